// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package sandbox

import (
	"maps"
	"strings"
)

// Tags are a sandbox's key-value marks. Keys of other programs are carried
// byte for byte.
type Tags map[string]string

// Clone returns an independent copy; never nil.
func (t Tags) Clone() Tags {
	c := make(Tags, len(t))
	maps.Copy(c, t)
	return c
}

// Our own tag keys. Airflow's are in package airflow.
const (
	TagManagedBy  = "taskowned_managed_by"  // which of our programs made it: ManagedByTerraform
	TagDeployment = "taskowned_deployment"  // marker of the Airflow deployment it is made for
	TagAttempt    = "taskowned_attempt"     // random mark of the create call
	TagRetiredAt  = "taskowned_retired_at"  // Unix seconds; replaced: leave it to its holder and its end
	TagTeardownAt = "taskowned_teardown_at" // Unix seconds; a teardown was asked for: destroy it
	TagProtect    = "taskowned_protect"     // empty or "false": no; a time: until then; anything else: yes
)

// ManagedByTerraform is the value of TagManagedBy on sandboxes that Terraform made.
const ManagedByTerraform = "terraform"

// ReservedTag reports whether key belongs to Airflow or to us, so that a user's
// own tags must not use it.
func ReservedTag(key string) bool {
	return strings.HasPrefix(key, "airflow_") || strings.HasPrefix(key, "taskowned_")
}
