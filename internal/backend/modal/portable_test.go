// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestArgumentsThatAreNotUTF8ArriveByteForByte(t *testing.T) {
	plain := []string{"printf", "%s|", "ä", "a\nb\n"}
	if got := portable(plain); !slices.Equal(got, plain) {
		t.Errorf("portable(%q) = %q, want itself", plain, got)
	}
	argv := []string{"printf", "%s|", "\xff", "", "new\nlines\n\n", `$x '"\ %s`, "-n", "\xfe\x01"}
	wrapped := portable(argv)
	out, err := exec.Command(wrapped[0], wrapped[1:]...).Output()
	if want := strings.Join(argv[2:], "|") + "|"; err != nil || string(out) != want {
		t.Errorf("printed %q, %v; want %q", out, err, want)
	}
}
