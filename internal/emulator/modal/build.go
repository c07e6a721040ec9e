// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

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
	w, unlock := c.lock(stream.Context())
	found, err := w.image(req.GetImageId())
	unlock()
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
		return status.FromContextError(stream.Context().Err()).Err()
	}
	var heard int // entries that the client has
	_, _ = fmt.Sscanf(req.GetLastEntryId(), "%d-0", &heard)
	for i, line := range found.log {
		if i < heard {
			continue
		}
		entry := fmt.Sprintf("%d-0", i+1)
		logs := []*pb.TaskLogs{pb.TaskLogs_builder{Data: line, FileDescriptor: pb.FileDescriptor_FILE_DESCRIPTOR_STDOUT, Timestamp: seconds(c.Now())}.Build()}
		if err := stream.Send(pb.ImageJoinStreamingResponse_builder{EntryId: entry, TaskLogs: logs}.Build()); err != nil {
			return err
		}
	}
	return stream.Send(pb.ImageJoinStreamingResponse_builder{Result: found.result(), Metadata: found.metadata(), Eof: true}.Build())
}
