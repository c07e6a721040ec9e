// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	sdk "github.com/modal-labs/modal-client/go"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// stillbornWithin bounds the end of a sandbox that was made in vain.
const stillbornWithin = 30 * time.Second

// Create makes one sandbox in one call that carries its name and all its tags.
// The name holds the mark and is unique among the app's sandboxes, so that it is
// taken when the call is made a second time: that is ErrConflict, and
// backend.Create finds out whose it is.
func (a *app) Create(ctx context.Context, req backend.Request) (sandbox.Sandbox, error) {
	made, err := a.create(ctx, req)
	return made, a.failed("create sandbox", req.Name, err)
}

func (a *app) create(ctx context.Context, req backend.Request) (sandbox.Sandbox, error) {
	if err := a.checkRequest(req); err != nil {
		return sandbox.Sandbox{}, err
	}
	s, err := a.enter(ctx)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	image, err := s.build(ctx, backend.ImageSpec{From: cmp.Or(req.Spec.Image, defaultImage)}, nil)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	params, born := createParams(req), &birth{}
	h, err := s.sdk.Sandboxes.Create(context.WithValue(ctx, birthKey{}, born), s.found, &sdk.Image{ImageID: image}, params)
	if err != nil {
		return sandbox.Sandbox{}, s.stillborn(ctx, born.handle, classed(err))
	}
	if !handlePattern.MatchString(h.SandboxID) {
		return sandbox.Sandbox{}, fmt.Errorf("%w: Modal calls the new sandbox %q, which is no id of one", backend.ErrUnknownOutcome, h.SandboxID)
	}
	a.memory.made(h.SandboxID, req.Tags, a.clock.Now().Add(params.Timeout))
	return s.fresh(ctx, h, req), nil
}

// stillborn is the error of a create that failed. A V1 sandbox that was made and
// then not scheduled, or not looked up, is ended here: the client tries to, and
// does not say whether it could.
func (s *session) stillborn(ctx context.Context, handle string, err error) error {
	if handle == "" {
		return notSandbox(err) // NOT_FOUND is about the app or the image
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stillbornWithin)
	defer cancel()
	if failed := s.Destroy(ctx, sandbox.Ref{Handle: handle}); failed != nil {
		return fmt.Errorf("%w: sandbox %s was made, and then: %v; %v", backend.ErrUnknownOutcome, handle, err, failed)
	}
	return notSandbox(err)
}

func (a *app) checkRequest(req backend.Request) error {
	if err := backend.Refused(a.Refuse(req.Spec)); err != nil {
		return err
	}
	switch {
	case req.Mark == "":
		return fmt.Errorf("%w: the mark is missing", backend.ErrInvalid)
	case !objectName.MatchString(req.Name):
		return fmt.Errorf("%w name %q: up to 64 letters, digits, dots, dashes and underscores", backend.ErrInvalid, req.Name)
	}
	return checkTags(req.Tags)
}

// createParams is what one create call carries. Without a GPU the client makes a
// V2 sandbox, which takes the environment inline; a V1 sandbox gets it from a
// secret that lives as long as it is used.
func createParams(req backend.Request) *sdk.SandboxCreateParams {
	spec := req.Spec
	params := &sdk.SandboxCreateParams{
		Name:        req.Name,
		Tags:        req.Tags,
		Timeout:     seconds(spec.Lifetime),
		IdleTimeout: seconds(spec.IdleTimeout),
		Workdir:     cmp.Or(spec.Workdir, sandbox.DefaultWorkdir),
		Env:         spec.Env,
		CPU:         spec.CPU,
		MemoryMiB:   int(spec.MemoryMiB),
		GPU:         spec.GPU,
		Cloud:       spec.Cloud,
	}
	if spec.Region != "" {
		params.Regions = []string{spec.Region}
	}
	setNetwork(params, spec.Network)
	return params
}

// setNetwork writes a policy that Refuse has accepted, with the words that
// Airflow sends. BLOCKED is the only one that closes DNS too, so that an empty
// list is never sent in its place.
func setNetwork(params *sdk.SandboxCreateParams, policy sandbox.NetworkPolicy) {
	params.BlockNetwork = policy.DeniesAll()
	if len(policy.AllowEgressToCIDRs) > 0 {
		params.OutboundCIDRAllowlist = &sdk.Allowlist{Entries: ranges(policy)}
	}
	if len(policy.AllowEgressTo) > 0 {
		params.OutboundDomainAllowlist = &sdk.Allowlist{Entries: policy.AllowEgressTo}
	}
}

// ranges returns the address ranges as Modal wants them.
func ranges(policy sandbox.NetworkPolicy) []string {
	var all []string
	for _, entry := range policy.AllowEgressToCIDRs {
		if canonical, err := airflow.CheckCIDR(entry); err == nil { // others were refused
			all = append(all, canonical)
		}
	}
	return all
}

// seconds rounds up to what Modal counts in.
func seconds(d time.Duration) time.Duration {
	return time.Duration(math.Ceil(d.Seconds())) * time.Second
}

// fresh reads the new sandbox for its times. It is there whether it can be read
// or not.
func (s *session) fresh(ctx context.Context, h *sdk.Sandbox, req backend.Request) sandbox.Sandbox {
	if found, err := s.get(ctx, h); err == nil {
		return found
	}
	return sandbox.Sandbox{
		Ref:       sandbox.Ref{Handle: h.SandboxID},
		Name:      req.Name,
		State:     sandbox.Running,
		StateWord: "running",
		Tags:      req.Tags.Clone(),
		TagsKnown: true,
		Attached:  -1,
	}
}
