// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// MountBatchedCheckExistence has no file, and tells the time at which it looked.
func (c *control) MountBatchedCheckExistence(_ context.Context, req *pb.MountBatchedCheckExistenceRequest) (*pb.MountBatchedCheckExistenceResponse, error) {
	reply := pb.MountBatchedCheckExistenceResponse_builder{MissingSha256HexHashes: req.GetSha256HexHashes()}
	if !c.opts.NoCheckedAt {
		reply.CheckedAt = timestamppb.New(c.Now())
	}
	return reply.Build(), nil
}
