// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// attachable is a backend of which only the capabilities are asked.
type attachable struct{ backend.Backend }

func (attachable) Capabilities() backend.Capabilities { return backend.Capabilities{Attachable: true} }

func TestAttachmentIsToldPartByPartAndOnlyWhereAirflowCanAttach(t *testing.T) {
	there, elsewhere := opened(t, "local:///a", attachable{}), opened(t, "local:///a", plain{})
	known := sample()
	known.Owner, known.Handle, known.ExpiresAt = types.StringValue("terraform:a"), types.StringValue("sb"), momentValue(noon.Add(time.Hour))
	edited := func(edit func(*instanceModel)) instanceModel { m := known; edit(&m); return m }
	for name, tc := range map[string]struct {
		m    instanceModel
		conn *Connection
		want string
	}{
		"known":              {known, there, `{"expires_at":"2026-11-30T13:00:00Z","handle":"sb","owner":"terraform:a","workdir":"/workspace"}`},
		"not made yet":       {edited(func(m *instanceModel) { m.Handle = types.StringUnknown() }), there, `{"expires_at":"2026-11-30T13:00:00Z","handle":<unknown>,"owner":"terraform:a","workdir":"/workspace"}`},
		"unknown workdir":    {edited(func(m *instanceModel) { m.Workdir = types.StringUnknown() }), there, `{"expires_at":"2026-11-30T13:00:00Z","handle":"sb","owner":"terraform:a","workdir":<unknown>}`},
		"unknown owner":      {edited(func(m *instanceModel) { m.Owner = types.StringUnknown() }), there, "<unknown>"},
		"unknown connection": {known, nil, "<unknown>"},
		"no owner":           {edited(func(m *instanceModel) { m.Owner = types.StringNull() }), there, "<null>"},
		"not attachable":     {known, elsewhere, "<null>"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.m.attachment(tc.conn).String(); got != tc.want {
				t.Errorf("attachment is %s, want %s", got, tc.want)
			}
		})
	}
}
