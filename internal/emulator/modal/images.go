// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
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

// checkBuilt refuses an image that can be neither built upon nor run.
func (w *workspace) checkBuilt(id string) error {
	found, err := w.image(id)
	if err == nil && (!found.isBuilt() || found.problem != "") {
		return status.Errorf(codes.FailedPrecondition, "Image '%s' is not built", id)
	}
	return err
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
	w, unlock := c.lock(ctx)
	defer unlock()
	if _, err := w.appByID(req.GetAppId()); err != nil {
		return nil, err
	}
	for _, base := range req.GetImage().GetBaseImages() {
		if err := w.checkBuilt(base.GetImageId()); err != nil {
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

func (c *control) ImageFromId(ctx context.Context, req *pb.ImageFromIdRequest) (*pb.ImageFromIdResponse, error) {
	w, unlock := c.lock(ctx)
	defer unlock()
	found, err := w.image(req.GetImageId())
	if err != nil {
		return nil, err
	}
	return pb.ImageFromIdResponse_builder{ImageId: found.id, Metadata: found.metadata()}.Build(), nil
}

func (c *control) ImageDelete(ctx context.Context, req *pb.ImageDeleteRequest) (*emptypb.Empty, error) {
	w, unlock := c.lock(ctx)
	defer unlock()
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
