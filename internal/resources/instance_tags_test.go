// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func TestRefusedTagIsToldWithWhereItComesFrom(t *testing.T) {
	tags := sandbox.Tags{"note": "x", "airflow_owner": "x", "airflow_workdir": "/", "taskowned_attempt": "x", "taskowned_deployment": "x"}
	for name, tc := range map[string]struct {
		err  error
		says string // empty: nothing is added
	}{
		"of the user":         {fmt.Errorf("%w: Tag 'note' is longer than 63 bytes", backend.ErrInvalid), "note comes from tags."},
		"of Airflow":          {fmt.Errorf("%w: invalid characters in \"airflow_owner\"", backend.ErrInvalid), "airflow_owner comes from owner."},
		"of the deployment":   {fmt.Errorf("%w: Tag 'taskowned_deployment' is too long", backend.ErrInvalid), "comes from deployment, here or else of the connection."},
		"not by name":         {fmt.Errorf("%w: tags are too long", backend.ErrInvalid), ""},
		"part of a word":      {fmt.Errorf("%w: 'notes' are not taken", backend.ErrInvalid), ""},
		"another error of it": {fmt.Errorf("%w: tag 'note' is busy", backend.ErrConflict), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := refusedTag(tc.err, tags)
			if !errors.Is(got, tc.err) || tc.says == "" && got.Error() != tc.err.Error() || !strings.Contains(got.Error(), tc.says) {
				t.Errorf("said %v", got)
			}
		})
	}
}
