// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"maps"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// stamp is what the tags of a sandbox made by Terraform say about it, for
// Airflow, for the janitor and for the next read. The name and the attempt mark
// are written once, at birth.
type stamp struct {
	owner      string
	network    string // encoded as the tag
	workdir    string
	deployment string
	expiresAt  time.Time
	user       map[string]string
}

// write puts the stamp into tags; formerly are the user's tags it had before.
// Everything else in tags is left alone.
func (s stamp) write(tags sandbox.Tags, formerly map[string]string) {
	for key := range formerly {
		delete(tags, key)
	}
	maps.Copy(tags, s.user)
	tags[sandbox.TagManagedBy] = sandbox.ManagedByTerraform
	delete(tags, sandbox.TagRetiredAt)
	if !s.expiresAt.IsZero() {
		tags[airflow.TagExpiresAt] = airflow.FormatExpiry(s.expiresAt)
	}
	tags[airflow.TagNetwork] = s.network
	tags[airflow.TagWorkdir] = s.workdir
	setOrDelete(tags, airflow.TagOwner, s.owner)
	setOrDelete(tags, sandbox.TagDeployment, s.deployment)
}

func setOrDelete(tags sandbox.Tags, key, value string) {
	if value == "" {
		delete(tags, key)
		return
	}
	tags[key] = value
}

// damaged returns the tags that lack what write puts there and no attribute of
// sandbox_instance shows: such damage is repaired by an update of its own.
func (s stamp) damaged(tags sandbox.Tags) (keys []string) {
	broken := func(key string, is bool) {
		if is {
			keys = append(keys, key)
		}
	}
	_, network := airflow.DecodeNetwork(tags[airflow.TagNetwork])
	broken(airflow.TagNetwork, network != nil)
	_, expiry := airflow.ParseExpiry(tags[airflow.TagExpiresAt])
	broken(airflow.TagExpiresAt, expiry != nil)
	broken(airflow.TagWorkdir, tags[airflow.TagWorkdir] != s.workdir)
	broken(sandbox.TagManagedBy, tags[sandbox.TagManagedBy] != sandbox.ManagedByTerraform)
	_, retired := tags[sandbox.TagRetiredAt]
	broken(sandbox.TagRetiredAt, retired)
	return keys
}
