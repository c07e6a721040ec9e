// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"maps"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func TestStampTouchesOnlyItsOwnKeys(t *testing.T) {
	tags := sandbox.Tags{"foreign": "yes", "airflow_holder": "a/b/c", "airflow_sandbox": "sb", "taskowned_attempt": "m",
		"taskowned_deployment": "old", "airflow_owner": "old", "mine": "1", "kept": "1",
		"taskowned_retired_at": "7"}
	stamp{
		network: "n", workdir: "/w", expiresAt: time.Unix(7, 0), user: map[string]string{"kept": "2", "new": "3"},
	}.write(tags, map[string]string{"mine": "1", "kept": "1"})
	want := sandbox.Tags{"foreign": "yes", "airflow_holder": "a/b/c", "airflow_sandbox": "sb", "taskowned_attempt": "m",
		"airflow_network": "n", "airflow_workdir": "/w", "airflow_expires_at": "7", "taskowned_managed_by": "terraform", "kept": "2", "new": "3"}
	if !maps.Equal(tags, want) {
		t.Errorf("tags are %v, want %v", tags, want)
	}
}
