// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"strings"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// routerPrefix begins the full name of every method of the command router.
const routerPrefix = "/modal.task_command_router.TaskCommandRouter/"

// control is the control plane. It and the router are two types because both
// services have a SandboxWaitUntilReady.
type control struct {
	pb.UnimplementedModalClientServer
	*Server
}

// router is the command router.
type router struct {
	pb.UnimplementedTaskCommandRouterServer
	*Server
}

// methodName is the name without the service.
func methodName(full string) string { return full[strings.LastIndexByte(full, '/')+1:] }

// unknownMethod answers methods that the stubs do not know: Python's are newer.
func unknownMethod(_ any, stream grpc.ServerStream) error {
	full, _ := grpc.MethodFromServerStream(stream)
	return status.Errorf(codes.Unimplemented, "method %s is not emulated", methodName(full))
}

// seconds is t as the protocol has it.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / 1e9
}
