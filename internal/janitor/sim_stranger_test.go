// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// home is the account that a place lives in.
const home = "home"

func (b *simBackend) Check(ctx context.Context) (status backend.Status, err error) {
	err = b.do(ctx, DefaultCallTimeout/2, func() error {
		status.Identity = home
		if b.s.stranger {
			status.Identity = "elsewhere"
		}
		return nil
	})
	if err != nil {
		return backend.Status{}, err
	}
	return status, nil
}

// strange is what stands in the other account: as dead as can be.
func (v *view) strange() []sandbox.Sandbox {
	var boxes []sandbox.Sandbox
	for _, handle := range []string{"other-1", "other-2"} {
		boxes = append(boxes, sandbox.Sandbox{
			Ref: sandbox.Ref{Handle: handle, Incarnation: "1"}, State: sandbox.Running, TagsKnown: true,
			Tags:       sandbox.Tags{airflow.TagSandbox: handle, airflow.TagExpiresAt: airflow.FormatExpiry(simStart.Add(time.Minute))},
			CreatedAt:  simStart,
			ServerEnds: simStart.Add(time.Minute),
		})
	}
	return boxes
}
