// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"net/netip"
	"regexp"
	"strings"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxLifetime is what Modal's documentation allows (guide/sandboxes).
const maxLifetime = 24 * time.Hour

// nameRule is what both clients check before they send a name.
var nameRule = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// SandboxCreateV2 answers when the sandbox is scheduled, with all that a client
// needs for its first command.
func (c *control) SandboxCreateV2(ctx context.Context, req *pb.SandboxCreateV2Request) (*pb.SandboxCreateV2Response, error) {
	w, unlock := c.lock(ctx)
	defer unlock()
	// Python before 1.6 sends the variables as EphemeralSecrets.
	env, err := w.variables(req.GetDefinition().GetSecretIds(), req.GetSecretSources(), req.GetEphemeralSecrets().GetContents())
	if err != nil {
		return nil, err
	}
	box, err := c.create(w, V2, req.GetAppId(), req.GetDefinition(), req.GetTags(), env)
	if err != nil {
		return nil, err
	}
	reply := pb.SandboxCreateV2Response_builder{
		SandboxId: box.id, Metadata: pb.SandboxHandleMetadata_builder{AppId: box.app.id}.Build(),
	}
	if !c.opts.NoSeededAccess {
		jwt, url, err := c.access(ctx)
		if err != nil {
			return nil, err
		}
		reply.TaskId = box.taskID
		reply.CommandRouterAccess = pb.CommandRouterAccess_builder{Jwt: jwt, Url: url}.Build()
	}
	return reply.Build(), nil
}

// SandboxCreate answers before the sandbox is scheduled; the client asks for
// its task then.
func (c *control) SandboxCreate(ctx context.Context, req *pb.SandboxCreateRequest) (*pb.SandboxCreateResponse, error) {
	w, unlock := c.lock(ctx)
	defer unlock()
	env, err := w.variables(req.GetDefinition().GetSecretIds(), nil, nil)
	if err != nil {
		return nil, err
	}
	box, err := c.create(w, V1, req.GetAppId(), req.GetDefinition(), req.GetTags(), env)
	if err != nil {
		return nil, err
	}
	return pb.SandboxCreateResponse_builder{
		SandboxId: box.id, Metadata: pb.SandboxHandleMetadata_builder{AppId: box.app.id}.Build(),
	}.Build(), nil
}

func (c *control) create(w *workspace, generation Generations, appID string, definition *pb.Sandbox, tags []*pb.SandboxTag, env map[string]string) (*sandbox, error) {
	if c.stopped.Err() != nil {
		return nil, errStopping
	}
	a, err := w.appByID(appID)
	if err != nil {
		return nil, err
	}
	if !a.stopped.IsZero() {
		return nil, status.Errorf(codes.FailedPrecondition, "App '%s' is stopped", a.name)
	}
	if err := w.checkBuilt(definition.GetImageId()); err != nil {
		return nil, err
	}
	if err := checkDefinition(generation, definition); err != nil {
		return nil, err
	}
	if err := c.checkTags(tags); err != nil {
		return nil, err
	}
	if name := definition.GetName(); name != "" {
		if other := c.holder(w, a, name); other != nil && c.holdsName(other) {
			return nil, status.Errorf(codes.AlreadyExists, "Sandbox with name '%s' already exists in app '%s'", name, a.name)
		}
	}
	box := c.newSandbox(w, a, generation, definition)
	box.tags, box.env = tags, env
	c.keep(box)
	if argv := definition.GetEntrypointArgs(); len(argv) > 0 {
		c.startEntrypoint(box, argv)
	}
	return box, nil
}

func (s *Server) newSandbox(w *workspace, a *app, generation Generations, definition *pb.Sandbox) *sandbox {
	now := s.Now()
	if s.opts.TimestampGranularity > 0 {
		now = now.Truncate(s.opts.TimestampGranularity)
	}
	id, taskID := newIDs(generation)
	return &sandbox{
		id: id, taskID: taskID, generation: generation, workspace: w, app: a, name: definition.GetName(),
		created: now, idleSince: now, definition: definition, access: networkAccess(definition),
	}
}

func (s *Server) keep(box *sandbox) {
	box.workspace.add(box)
	s.tasks[box.taskID] = box
}

// networkAccess is the policy of a definition; BlockNetwork is its older form.
func networkAccess(definition *pb.Sandbox) *pb.NetworkAccess {
	if definition.GetNetworkAccess() == nil && definition.GetBlockNetwork() {
		return pb.NetworkAccess_builder{NetworkAccessType: pb.NetworkAccess_BLOCKED}.Build()
	}
	return definition.GetNetworkAccess()
}

// checkDefinition refuses what the documentation, and the change log of the Go
// client, say that Modal refuses.
func checkDefinition(generation Generations, definition *pb.Sandbox) error {
	lifetime := time.Duration(definition.GetTimeoutSecs()) * time.Second
	gpu := definition.GetResources().GetGpuConfig()
	switch name := definition.GetName(); {
	case name != "" && !nameRule.MatchString(name):
		return status.Errorf(codes.InvalidArgument, "Invalid Sandbox name '%s': at most 64 of letters, digits, '-', '_' and '.'", name)
	case lifetime <= 0 || lifetime > maxLifetime:
		return status.Errorf(codes.InvalidArgument, "Sandbox timeout must be between 1 second and 24 hours, not %s", lifetime)
	case generation == V2 && (gpu.GetGpuType() != "" || gpu.GetCount() > 0):
		return status.Error(codes.InvalidArgument, "GPUs are not supported by V2 Sandboxes")
	}
	return checkNetworkAccess(networkAccess(definition))
}

// checkNetworkAccess refuses what Modal's server refuses, in the words that the
// tests of its Go client expect.
func checkNetworkAccess(access *pb.NetworkAccess) error {
	if access.GetNetworkAccessType() != pb.NetworkAccess_ALLOWLIST {
		if len(access.GetAllowedCidrs())+len(access.GetAllowedDomains()) > 0 {
			return status.Errorf(codes.InvalidArgument, "Allowlists cannot be combined with network access %s", access.GetNetworkAccessType())
		}
		return nil
	}
	for _, cidr := range access.GetAllowedCidrs() {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			return status.Errorf(codes.InvalidArgument, "Invalid CIDR (outbound IPv4): %s", cidr)
		}
		if !prefix.Addr().Is4() {
			return status.Errorf(codes.InvalidArgument, "Invalid CIDR (outbound IPv4): %s: IPv6 CIDRs are not supported", cidr)
		}
	}
	return nil
}

// isOpen reports whether a policy lets everything through: all that the engine
// can do beside cutting the network.
func isOpen(access *pb.NetworkAccess) bool {
	switch access.GetNetworkAccessType() {
	case pb.NetworkAccess_BLOCKED:
		return false
	case pb.NetworkAccess_ALLOWLIST:
		for _, cidr := range access.GetAllowedCidrs() {
			if cidr == "0.0.0.0/0" {
				return true
			}
		}
		return false
	}
	return true
}

// startEntrypoint runs the sandbox's own command; its end is the sandbox's.
func (s *Server) startEntrypoint(box *sandbox, argv []string) {
	cmd := newCommand(box, "", true, true, false)
	s.enter(box, cmd)
	spec, err := s.spec(box, argv, box.definition.GetWorkdir(), nil)
	if err != nil {
		cmd.fail(err)
		s.leave(box, cmd)
		s.end(box, exited(exitNotFound))
		return
	}
	s.running.Go(func() {
		cmd.run(s, spec, 0)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leave(box, cmd)
		s.end(box, exited(cmd.exitCode()))
	})
}

func (s *Server) checkTags(tags []*pb.SandboxTag) error {
	for _, tag := range tags {
		switch limit := s.opts.MaxTagBytes; {
		case tag.GetTagName() == "":
			return status.Error(codes.InvalidArgument, "Tag names cannot be empty")
		case strings.ContainsRune(tag.GetTagName()+tag.GetTagValue(), 0):
			return status.Errorf(codes.InvalidArgument, "Tag '%s' contains a NUL character", tag.GetTagName())
		case limit > 0 && max(len(tag.GetTagName()), len(tag.GetTagValue())) > limit:
			return status.Errorf(codes.InvalidArgument, "Tag '%s' is longer than %d bytes", tag.GetTagName(), limit)
		}
	}
	return nil
}
