// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// sources are the attributes that the tags of Airflow's and of ours tell of.
var sources = map[string]string{
	airflow.TagOwner:      "owner",
	airflow.TagNetwork:    "network_policy",
	airflow.TagWorkdir:    "workdir",
	sandbox.TagDeployment: "deployment, here or else of the connection",
}

// refusedTag adds to a place's refusal of one of the tags where that tag comes
// from. Which one it is, only the words of the place say, and what limit it is
// over; nobody can know that when planning.
func refusedTag(err error, tags sandbox.Tags) error {
	if !errors.Is(err, backend.ErrInvalid) {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		for _, quote := range []string{"'", `"`, "`"} {
			if strings.Contains(err.Error(), quote+key+quote) {
				return fmt.Errorf("%w.\n\nThe tag %s comes from %s. Change that so that the place takes it, and apply again",
					err, key, cmp.Or(sources[key], "tags"))
			}
		}
	}
	return err
}
