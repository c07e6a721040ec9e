// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TaskSetNetworkAccess replaces the network policy. Go's client can set
// allowlists, Python's opens the network too; none can block it. It
// holds for the commands that are started from now on.
func (r *router) TaskSetNetworkAccess(_ context.Context, req *pb.TaskSetNetworkAccessRequest) (*pb.TaskSetNetworkAccessResponse, error) {
	switch req.GetNetworkAccess().GetNetworkAccessType() {
	case pb.NetworkAccess_ALLOWLIST, pb.NetworkAccess_OPEN:
	default:
		return nil, status.Error(codes.InvalidArgument, "A network policy is replaced by an allowlist, or by none")
	}
	if err := checkNetworkAccess(req.GetNetworkAccess()); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	box, err := r.runningTask(req.GetTaskId())
	if err != nil {
		return nil, err
	}
	box.access = req.GetNetworkAccess()
	return &pb.TaskSetNetworkAccessResponse{}, nil
}
