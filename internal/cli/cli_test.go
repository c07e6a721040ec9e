// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/spf13/cobra"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
)

func TestAnAgeIsItsTwoLargestUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour:                      "0s",
		999 * time.Millisecond:          "0s",
		59 * time.Second:                "59s",
		time.Minute:                     "1m",
		12*time.Minute + 5*time.Second:  "12m5s",
		time.Hour + 59*time.Second:      "1h",
		65 * time.Minute:                "1h5m",
		51*time.Hour + 59*time.Minute:   "2d3h",
		1000*24*time.Hour + time.Minute: "1000d",
	} {
		if got := cli.Age(d); got != want {
			t.Errorf("%s is written %s, want %s", d, got, want)
		}
	}
}

func TestOnlyYesIsAYes(t *testing.T) {
	for answer, want := range map[string]error{
		"yes\n": nil, " yes \n": nil, "y\n": cli.ErrDeclined, "YES\n": cli.ErrDeclined, "\n": cli.ErrDeclined, "\x04": cli.ErrDeclined,
	} {
		person, program, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(person, answer); err != nil {
			t.Fatal(err)
		}
		var asked bytes.Buffer
		if err := cli.Confirm(t.Context(), program, &asked, "Go on?"); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", answer, err, want)
		}
		if asked.String() != "Go on? Only \"yes\" is a yes: " {
			t.Errorf("asked %q", asked.String())
		}
		_, _ = person.Close(), program.Close()
	}
}

func TestNobodyIsAskedWithoutATerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if err := cli.Confirm(t.Context(), null, io.Discard, ""); !errors.Is(err, cli.ErrNoTerminal) {
		t.Errorf("got %v", err)
	}
}

func TestASignalEndsTheWaitForAnAnswer(t *testing.T) {
	person, program, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer person.Close()
	defer program.Close()
	ctx, stop := context.WithCancelCause(t.Context())
	stop(cli.Stopped{Signal: syscall.SIGTERM})
	var stopped cli.Stopped
	if err := cli.Confirm(ctx, program, io.Discard, ""); !errors.As(err, &stopped) || stopped.ExitStatus() != 143 {
		t.Errorf("got %v", err)
	}
}

func TestFailureIsTextForAPersonAndJSONForAProgram(t *testing.T) {
	f := cli.Failure{Message: "list <it>", Class: "failed", Next: "try again"}
	for asJSON, want := range map[bool]string{
		false: "janitor: list <it>\n  next: try again\n",
		true:  "{\"error\":{\"message\":\"list <it>\",\"class\":\"failed\",\"next\":\"try again\"}}\n",
	} {
		var out bytes.Buffer
		f.Print(&out, "janitor", asJSON)
		if out.String() != want {
			t.Errorf("JSON %t:\n%s", asJSON, &out)
		}
	}
}

func TestAMistakeBeforeTheFormatIsWrittenInItToo(t *testing.T) {
	for args, want := range map[string]bool{
		"list --nonsense -o json":       true,
		"--nonsense --output json list": true,
		"--nonsense --output=json":      true,
		"--nonsense -ojson":             true,
		"--nonsense -o=json":            true,
		"list --nonsense":               false,
		"list --nonsense -o":            false,
		"list --nonsense -o table":      false,
		"exec x y --no -- cmd -o json":  false,
	} {
		if got := cli.AsksForJSON(strings.Fields(args)); got != want {
			t.Errorf("%s: %t, want %t", args, got, want)
		}
	}
}

func TestCommandAndFlagSayTheSameVersion(t *testing.T) {
	run := func(asJSON bool, args ...string) string {
		var out bytes.Buffer
		root := &cobra.Command{Use: "janitor"}
		cli.AddVersion(root, "1.2.3", func() bool { return asJSON })
		root.SetArgs(args)
		root.SetOut(&out)
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if line := run(false, "version"); !strings.HasPrefix(line, "janitor 1.2.3 ") || line != run(false, "--version") {
		t.Errorf("version says %q, --version %q", line, run(false, "--version"))
	}
	if text := run(true, "version"); !strings.Contains(text, "\"version\": \"1.2.3\"") {
		t.Errorf("as JSON %q", text)
	}
}
