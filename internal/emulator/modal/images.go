// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// image is one layer. Nothing is really built: the emulator keeps what was
// asked for and says how it went.
type image struct {
	id      string
	log     []string
	problem string        // why the build failed; empty: it did not
	built   chan struct{} // closed at the end of the build
}

func (i *image) result() *pb.GenericResult {
	if i.problem != "" {
		return pb.GenericResult_builder{
			Status: pb.GenericResult_GENERIC_STATUS_FAILURE, Exception: i.problem, Exitcode: 1,
		}.Build()
	}
	return pb.GenericResult_builder{Status: pb.GenericResult_GENERIC_STATUS_SUCCESS}.Build()
}

func (i *image) isBuilt() bool {
	select {
	case <-i.built:
		return true
	default:
		return false
	}
}

func (i *image) metadata() *pb.ImageMetadata {
	return pb.ImageMetadata_builder{ImageBuilderVersion: proto.String(builderVersion)}.Build()
}

func (w *workspace) image(id string) (*image, error) {
	if found := w.images[id]; found != nil {
		return found, nil
	}
	return nil, status.Errorf(codes.NotFound, "Image with id '%s' not found", id)
}

// Builds is how many images the server's own workspace has built; an image that
// was there already is not built again.
func (s *Server) Builds() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.workspaces[s.opts.Workspace].builds
}

// ImageGetOrCreate builds an image, unless the same definition was built before:
// the id follows from the definition. It answers with a result only when the
// build has ended well; a client that gets none joins the build and hears its
// log.
func (c *control) ImageGetOrCreate(ctx context.Context, req *pb.ImageGetOrCreateRequest) (*pb.ImageGetOrCreateResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := workspaceOf(ctx)
	if _, err := w.appByID(req.GetAppId()); err != nil {
		return nil, err
	}
	for _, base := range req.GetImage().GetBaseImages() {
		if _, err := w.image(base.GetImageId()); err != nil {
			return nil, err
		}
	}
	id, err := imageID(w, req)
	if err != nil {
		return nil, err
	}
	found := w.images[id]
	if found == nil || found.isBuilt() && (found.problem != "" || req.GetForceBuild()) {
		if found, err = c.build(w, id, req.GetImage()); err != nil {
			return nil, err
		}
	}
	reply := pb.ImageGetOrCreateResponse_builder{ImageId: found.id}
	if found.isBuilt() && found.problem == "" {
		reply.Result, reply.Metadata = found.result(), found.metadata()
	}
	return reply.Build(), nil
}

// imageID is the same for the same definition. A secret made from a map has a
// new id in each request, so that its contents count.
func imageID(w *workspace, req *pb.ImageGetOrCreateRequest) (string, error) {
	definition := proto.CloneOf(req.GetImage())
	ids := definition.GetSecretIds()
	if id := definition.GetImageRegistryConfig().GetSecretId(); id != "" {
		ids = append(ids, id)
		definition.GetImageRegistryConfig().SetSecretId("")
	}
	definition.SetSecretIds(nil)
	env, err := w.variables(ids, nil, nil)
	if err != nil {
		return "", err
	}
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(definition)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(bytes, "%s%s%v", w.name, req.GetBuilderVersion(), env))
	return "im-" + hex.EncodeToString(sum[:])[:22], nil
}

func (c *control) build(w *workspace, id string, definition *pb.Image) (*image, error) {
	config := definition.GetImageRegistryConfig()
	var credentials []string
	if id := config.GetSecretId(); id != "" {
		credentials = append(credentials, id)
	}
	env, err := w.variables(credentials, nil, nil)
	if err != nil {
		return nil, err
	}
	made := &image{id: id, built: make(chan struct{})}
	made.log, made.problem = c.buildLog(definition.GetDockerfileCommands(), config.GetRegistryAuthType(), env)
	w.images[id] = made
	w.builds++
	if c.opts.BuildTime == 0 {
		close(made.built)
	} else {
		time.AfterFunc(c.opts.BuildTime, func() { close(made.built) })
	}
	return made, nil
}

// failing are commands that fail wherever they run.
var failing = regexp.MustCompile(`^RUN\s+(false|exit\s+[1-9][0-9]*)\s*$`)

// buildLog is what a build of commands says, and why it fails if it does.
func (s *Server) buildLog(commands []string, auth pb.RegistryAuthType, credentials map[string]string) (log []string, problem string) {
	for i, command := range commands {
		log = append(log, fmt.Sprintf("=> Step %d: %s\n", i, command))
		switch {
		case strings.HasPrefix(command, "FROM ") && auth == pb.RegistryAuthType_REGISTRY_AUTH_TYPE_STATIC_CREDS &&
			(credentials["REGISTRY_USERNAME"] == "" || credentials["REGISTRY_PASSWORD"] == ""):
			log = append(log, "error: the registry secret needs REGISTRY_USERNAME and REGISTRY_PASSWORD\n")
		case failing.MatchString(command) || s.failsBuild(command):
			log = append(log, fmt.Sprintf("error: command failed with exit code 1: %s\n", command))
		default:
			continue
		}
		return log, fmt.Sprintf("Image build failed at step %d: %s", i, command)
	}
	return append(log, "Built image\n"), ""
}

func (s *Server) failsBuild(command string) bool {
	for _, part := range s.opts.FailBuilds {
		if strings.Contains(command, part) {
			return true
		}
	}
	return false
}

// ImageJoinStreaming follows a build until its end or the caller's timeout.
func (c *control) ImageJoinStreaming(req *pb.ImageJoinStreamingRequest, stream grpc.ServerStreamingServer[pb.ImageJoinStreamingResponse]) error {
	c.mu.Lock()
	found, err := workspaceOf(stream.Context()).image(req.GetImageId())
	c.mu.Unlock()
	if err != nil {
		return err
	}
	timeout := time.NewTimer(time.Duration(float64(req.GetTimeout()) * float64(time.Second)))
	defer timeout.Stop()
	select {
	case <-found.built:
	case <-timeout.C:
		return nil
	case <-stream.Context().Done():
		return stream.Context().Err()
	}
	for i, line := range found.log {
		entry := fmt.Sprintf("%d-0", i+1)
		if entry == req.GetLastEntryId() {
			continue
		}
		logs := []*pb.TaskLogs{pb.TaskLogs_builder{Data: line, FileDescriptor: pb.FileDescriptor_FILE_DESCRIPTOR_STDOUT, Timestamp: seconds(c.Now())}.Build()}
		if err := stream.Send(pb.ImageJoinStreamingResponse_builder{EntryId: entry, TaskLogs: logs}.Build()); err != nil {
			return err
		}
	}
	return stream.Send(pb.ImageJoinStreamingResponse_builder{Result: found.result(), Metadata: found.metadata(), Eof: true}.Build())
}

func (c *control) ImageFromId(ctx context.Context, req *pb.ImageFromIdRequest) (*pb.ImageFromIdResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, err := workspaceOf(ctx).image(req.GetImageId())
	if err != nil {
		return nil, err
	}
	return pb.ImageFromIdResponse_builder{ImageId: found.id, Metadata: found.metadata()}.Build(), nil
}

func (c *control) ImageDelete(ctx context.Context, req *pb.ImageDeleteRequest) (*emptypb.Empty, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := workspaceOf(ctx)
	if _, err := w.image(req.GetImageId()); err != nil {
		return nil, err
	}
	delete(w.images, req.GetImageId())
	for tag, id := range w.published {
		if id == req.GetImageId() {
			delete(w.published, tag)
		}
	}
	return &emptypb.Empty{}, nil
}

func (c *control) ImagePublish(ctx context.Context, req *pb.ImagePublishRequest) (*pb.ImagePublishResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := workspaceOf(ctx)
	e, err := w.environment(req.GetEnvironmentName())
	if err != nil {
		return nil, err
	}
	if _, err := w.image(req.GetImageId()); err != nil {
		return nil, err
	}
	w.published[publishedKey(e, req.GetTag())] = req.GetImageId()
	return pb.ImagePublishResponse_builder{ImageId: req.GetImageId()}.Build(), nil
}

func (c *control) ImageGetByTag(ctx context.Context, req *pb.ImageGetByTagRequest) (*pb.ImageGetByTagResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := workspaceOf(ctx)
	e, err := w.environment(req.GetEnvironmentName())
	if err != nil {
		return nil, err
	}
	id, ok := w.published[publishedKey(e, req.GetTag())]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "Image '%s' not found in environment '%s'", req.GetTag(), e.name)
	}
	return pb.ImageGetByTagResponse_builder{ImageId: id}.Build(), nil
}

// publishedKey completes a tag that names no version.
func publishedKey(e *environment, tag string) string {
	if !strings.Contains(tag, ":") {
		tag += ":latest"
	}
	return e.name + "/" + tag
}
