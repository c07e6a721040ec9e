// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package report

import (
	"encoding/json"
	"io"
)

// JSON writes the report as one JSON document: schema, summary, needs_you, and
// the fields of janitor.Result. Times are RFC 3339.
func (r Report) JSON(w io.Writer) error { return writeJSON(w, r) }

func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
