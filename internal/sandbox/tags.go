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
	TagReplaces   = "taskowned_replaces"    // handle of the sandbox whose place it takes: born by a renewal
	TagRetiredAt  = "taskowned_retired_at"  // Unix seconds; replaced: leave it to its holder and its end
	TagTeardownAt = "taskowned_teardown_at" // Unix seconds; a teardown was asked for: destroy it
	TagProtect    = "taskowned_protect"     // empty or "false": no; a time: until then; anything else: yes
)

// ManagedByTerraform is the value of TagManagedBy on sandboxes that Terraform made.
const ManagedByTerraform = "terraform"

// ReservedTag reports whether key belongs to Airflow or to us, so that a user's
// own tags must not use it. TagProtect is ours, but meant for people to set.
func ReservedTag(key string) bool {
	return strings.HasPrefix(key, "airflow_") || strings.HasPrefix(key, "taskowned_") && key != TagProtect
}

// The bounds of a user's own tags.
const (
	MaxTags           = 64
	MaxTagKeyLength   = 128  // characters
	MaxTagValueLength = 1024 // characters
)

// CheckTagKey refuses what a user must not choose as the key of a tag.
func CheckTagKey(key string) error {
	switch {
	case key == "":
		return errors.New("a tag key must not be empty")
	case ReservedTag(key):
		return fmt.Errorf("the key %q is reserved: airflow_ belongs to Airflow and taskowned_ to this provider; choose another prefix", key)
	}
	return checkTagText("tag key", key, MaxTagKeyLength)
}

// CheckTagValue refuses what cannot be kept as the value of a tag. Its error
// does not repeat the value.
func CheckTagValue(value string) error { return checkTagText("tag value", value, MaxTagValueLength) }

func checkTagText(what, text string, most int) error {
	switch length := utf8.RuneCountInString(text); {
	case !utf8.ValidString(text):
		return fmt.Errorf("the %s is not valid UTF-8", what)
	case length > most:
		return fmt.Errorf("a %s of %d characters is longer than %d", what, length, most)
	case strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Errorf("the %s holds a newline or another control character", what)
	}
	return nil
}
