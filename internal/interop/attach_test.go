// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package interop

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// another task holds what it is not to get.
const another = "etl/scheduled__2026-10-05T00:00:00+00:00/load"

// The tag service is overloaded: Modal's client does not try that again itself.
var overloaded = codes.ResourceExhausted

func stampedOwnerHoldsForItsBlock(t *testing.T) {
	for _, name := range []string{"owned", "first generation"} {
		it := made(t, name)
		before := tags(t, it.Handle)
		attach(t, it.Handle, it.Owner)
		wantTags(t, name+", during the block", it.Handle, with(before, airflow.TagHolder, it.Owner))
		if said := call(t, it.Handle, "run_command", arguments{"command": "echo here"}); said != "[stdout]\nhere" {
			t.Errorf("%s: a command says %q", name, said)
		}
		release(t, it.Handle)
		wantTags(t, name+", after the block", it.Handle, before)
	}
}

func whoMayNotAttachChangesNothing(t *testing.T) {
	owned, unowned := made(t, "owned"), made(t, "unowned")
	gone := ask[string](t, "create", nil)
	ask[any](t, "destroy", arguments{"handle": gone})
	for name, refused := range map[string]struct{ handle, owner, says string }{
		"another owner":      {owned.Handle, "terraform:lab/other", `is not owned by 'terraform:lab/other': it carries owner 'terraform:lab/interop'`},
		"the owner in case":  {owned.Handle, strings.ToUpper(owner), "is not owned by"},
		"no owner stamped":   {unowned.Handle, owner, "it carries no owner"},
		"an unknown sandbox": {"sb-0000000000000000000000", owner, "is gone"},
		"an ended sandbox":   {gone, owner, "it carries no owner"},
	} {
		seen := watched.during(func() {
			wantRefused(t, name, worker.do(t, "attach", arguments{"handle": refused.handle, "owner": refused.owner}), refused.says)
		})
		if changed := seen.changing(); len(changed) > 0 {
			t.Errorf("%s: refused only after %v", name, changed)
		}
	}
}

func heldSandboxIsRefusedAndItsHolderNamed(t *testing.T) {
	it := made(t, "owned")
	retag(t, it.Handle, sandbox.Tags{airflow.TagHolder: another})
	held := tags(t, it.Handle)
	wantRefused(t, "held", worker.do(t, "attach", arguments{"handle": it.Handle, "owner": owner}), "already held by '"+another+"'")
	wantTags(t, "refused,", it.Handle, held)
	retag(t, it.Handle, sandbox.Tags{airflow.TagHolder: ""})
}

func retryFindsItsFilesWithoutATagWritten(t *testing.T) {
	it := made(t, "retried")
	attach(t, it.Handle, owner)
	call(t, it.Handle, "write_file", arguments{"path": "notes.txt", "content": "half done"})
	ask[any](t, "die", arguments{"handle": it.Handle})
	seen := watched.during(func() { attach(t, it.Handle, owner) })
	if seen.methods()["SandboxTagsGetV2"] != 1 || len(seen.changing()) > 0 {
		t.Errorf("the retry made the calls %v", seen.methods())
	}
	if said := call(t, it.Handle, "read_file", arguments{"path": "notes.txt"}); !strings.Contains(said, "half done") {
		t.Errorf("the retry reads %q", said)
	}
	release(t, it.Handle)
}

func releaseLeavesEveryOtherTagAsItWas(t *testing.T) {
	it := made(t, "tagged")
	before := tags(t, it.Handle)
	if before["team"] != oddValue || before[sandbox.TagManagedBy] == "" || before[airflow.TagHolder] != "" {
		t.Fatalf("made with the tags %v", before)
	}
	attach(t, it.Handle, oddOwner)
	wantTags(t, "during the block", it.Handle, with(before, airflow.TagHolder, oddOwner))
	release(t, it.Handle)
	wantTags(t, "after the release", it.Handle, before)
}

func failedBlockReleasesAndDestroysNothing(t *testing.T) {
	it := made(t, "owned")
	before := tags(t, it.Handle)
	attach(t, it.Handle, owner)
	ask[any](t, "fail", arguments{"handle": it.Handle})
	wantTags(t, "after the failure", it.Handle, before)
	if left := look(t, it.Handle); left.State != sandbox.Running {
		t.Errorf("the sandbox is %v", left.State)
	}
}

func releaseIsTriedThreeTimes(t *testing.T) {
	it := made(t, "owned")
	before := tags(t, it.Handle)
	attach(t, it.Handle, owner)
	server.Fail("SandboxTagsGetV2", emulator.Fault{Code: overloaded, Times: 2})
	if logs := release(t, it.Handle); len(warned(logs)) > 0 {
		t.Errorf("released at the third try, it warns: %v", logs)
	}
	wantTags(t, "released at the third try,", it.Handle, before)

	attach(t, it.Handle, owner)
	server.Fail("SandboxTagsGetV2", emulator.Fault{Code: overloaded, Times: 3})
	logs := release(t, it.Handle)
	if warnings := warned(logs); len(warnings) != 1 || !strings.Contains(warnings[0], "stays marked as held by "+owner) {
		t.Errorf("not released, it says %v", logs)
	}
	wantTags(t, "not released,", it.Handle, with(before, airflow.TagHolder, owner))
	retag(t, it.Handle, sandbox.Tags{airflow.TagHolder: ""})
}

// Airflow takes a rejected token for a sandbox that is gone.
func revokedTokenLeavesTheHolderWithoutAWord(t *testing.T) {
	it := made(t, "owned")
	before := tags(t, it.Handle)
	token := server.AddToken("emulator")
	connection := fmt.Sprintf(`{"conn_type": "modal", "login": %q, "password": %q}`, token.ID, token.Secret)
	ask[any](t, "connection", arguments{"value": connection})
	ask[string](t, "attach", arguments{"handle": it.Handle, "owner": owner, "settings": arguments{"modal_conn_id": "written"}})
	server.RevokeToken(token.ID)
	if logs := release(t, it.Handle); len(warned(logs)) > 0 {
		t.Errorf("with a revoked token it warns: %v", logs)
	}
	wantTags(t, "released with a revoked token,", it.Handle, with(before, airflow.TagHolder, owner))
	retag(t, it.Handle, sandbox.Tags{airflow.TagHolder: ""})
}

func policyTagIsAirflowsOwn(t *testing.T) {
	for name, spec := range policies {
		it := made(t, name)
		stamped := tags(t, it.Handle)[airflow.TagNetwork]
		if encoded := ask[string](t, "encode_network", arguments{"spec": spec.asSpec()}); encoded != stamped {
			t.Errorf("%s: stamped %s, Airflow writes %s", name, stamped, encoded)
		}
		decoded := ask[networkPolicy](t, "decode_network", arguments{"tag": stamped})
		if *decoded.Block != spec.blocks() || !slices.Equal(decoded.Names, spec.Names) || !slices.Equal(decoded.CIDRs, spec.CIDRs) {
			t.Errorf("%s: Airflow reads %+v out of %s", name, decoded, stamped)
		}
		if told := attach(t, it.Handle, owner); !strings.Contains(told, spec.told) {
			t.Errorf("%s: the model is told %q", name, told)
		}
		release(t, it.Handle)
	}
}

func unreadablePolicyIsToldAsUnknown(t *testing.T) {
	it := made(t, "stamped")
	retag(t, it.Handle, sandbox.Tags{airflow.TagNetwork: `{"block_network":true}`})
	answered := worker.do(t, "attach", arguments{"handle": it.Handle, "owner": owner})
	if told := string(answered.Result); !strings.Contains(told, "Its network access is whatever the task that set it up allowed") {
		t.Errorf("the model is told %s", told)
	}
	if warnings := warned(answered.Logs); len(warnings) != 1 || !strings.Contains(warnings[0], "network stamp") {
		t.Errorf("it warns %v", warnings)
	}
	release(t, it.Handle)
}

func notAHandleEndsTheTaskBeforeAnythingIsAsked(t *testing.T) {
	for _, rendered := range []any{nil, "None", ""} {
		seen := watched.during(func() {
			wantRefused(t, "rendered to nothing", worker.do(t, "attach_rendered", arguments{"rendered": rendered, "owner": owner}), "attach_to rendered to ")
		})
		if len(seen) > 0 {
			t.Errorf("%v: it was asked for with %v", rendered, seen.methods())
		}
	}
}
