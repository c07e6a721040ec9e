// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"unicode"
	"unicode/utf8"
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

// The bounds of a user's own tags.
const (
	MaxTags           = 64
	MaxTagKeyLength   = 128  // characters
	MaxTagValueLength = 1024 // characters
)

// CheckTag refuses what a user must not choose as a tag of their own.
func CheckTag(key, value string) error {
	switch {
	case key == "":
		return errors.New("a tag key must not be empty")
	case !utf8.ValidString(key) || !utf8.ValidString(value):
		return fmt.Errorf("the tag %q is not valid UTF-8", key)
	case utf8.RuneCountInString(key) > MaxTagKeyLength:
		return fmt.Errorf("a tag key of %d characters is longer than %d", utf8.RuneCountInString(key), MaxTagKeyLength)
	case utf8.RuneCountInString(value) > MaxTagValueLength:
		return fmt.Errorf("the value of the tag %q has %d characters, more than %d", key, utf8.RuneCountInString(value), MaxTagValueLength)
	case strings.ContainsFunc(key, unicode.IsControl) || strings.ContainsFunc(value, unicode.IsControl):
		return fmt.Errorf("the tag %q holds a newline or another control character", key)
	case ReservedTag(key) && key != TagProtect:
		return fmt.Errorf("the tag %q is reserved: keys that begin with airflow_ or taskowned_ are written by Airflow and by this provider, except %s", key, TagProtect)
	}
	return nil
}
