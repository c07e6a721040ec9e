// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package report

import (
	"io"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
)

// JSON writes the report as one JSON document: schema, summary, needs_you, and
// the fields of janitor.Result. Times are RFC 3339.
func (r Report) JSON(w io.Writer) error { return cli.WriteJSON(w, r) }
