// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// memory is what Terraform keeps for us beside the state of a sandbox_instance.
// It holds no secret: Terraform stores it in the clear.
type memory struct {
	Identity    string `json:"identity,omitempty"` // witness of the place where the sandbox was made
	Incarnation string `json:"incarnation,omitempty"`
	Imported    bool   `json:"imported,omitempty"` // what cannot be read back of it is not known
	Due         due    `json:"due,omitempty"`
	// Adopted stays on what was imported: it may have been replaced long before, by a
	// sandbox that is in another state.
	Adopted bool `json:"adopted,omitempty"`
	// Strays are successors of which the state does not know, because Terraform was
	// killed before it could save their rotation.
	Strays []sandbox.Ref `json:"strays,omitempty"`
}

// due is the verdict that Read, which looks at the clock, leaves to ModifyPlan,
// which must not: a saved plan is planned again when it is applied.
type due string

// The verdicts.
const (
	nothingDue   due = ""
	repairDue    due = "repair"    // its tags are damaged
	renewalDue   due = "renewal"   // its end is near
	replacingDue due = "replacing" // it is past its end, broken or half torn down, and still there
)

const memoryKey = "memory"

func (m memory) ref(handle string) sandbox.Ref {
	return sandbox.Ref{Handle: handle, Incarnation: m.Incarnation}
}

type keyGetter interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type keySetter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

func recall(ctx context.Context, private keyGetter, diags *diag.Diagnostics) memory {
	var m memory
	value, d := private.GetKey(ctx, memoryKey)
	diags.Append(d...)
	if len(value) == 0 {
		return m
	}
	if err := json.Unmarshal(value, &m); err != nil {
		diags.AddError("State of the sandbox is damaged", "What the provider keeps beside the state cannot be read: "+err.Error())
	}
	return m
}

func (m memory) keep(ctx context.Context, private keySetter, diags *diag.Diagnostics) {
	value, err := json.Marshal(m)
	if err != nil {
		diags.AddError("State of the sandbox cannot be kept", err.Error())
		return
	}
	diags.Append(private.SetKey(ctx, memoryKey, value)...)
}
