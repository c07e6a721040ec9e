// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"errors"
	"fmt"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

func TestErrorOfABuildTellsNoSecret(t *testing.T) {
	err := veiled{fmt.Errorf("%w image: log: password=hunter2 TOKEN=abc done", backend.ErrInvalid), backend.ImageSpec{
		Registry: &backend.RegistryLogin{Username: "robot", Password: "hunter2"},
		Secrets:  map[string]string{"TOKEN": "abc", "EMPTY": ""},
	}}
	if want := "invalid image: log: password=(secret) TOKEN=(secret) done"; err.Error() != want {
		t.Errorf("said %q, want %q", err.Error(), want)
	}
	if !errors.Is(err, backend.ErrInvalid) {
		t.Error("the class is lost")
	}
}
