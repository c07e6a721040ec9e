// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest_test

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend/backendtest"
)

// flawVariable names, in a child process, the flaw that TestReferenceBackend is
// to have.
const flawVariable = "BACKENDTEST_FLAW"

// flaw is one way to break a promise.
type flaw string

const (
	acceptsSilently    flaw = "accepts what it cannot give"
	altersTags         flaw = "alters tags it cannot store"
	buildsAnew         flaw = "builds the same image anew"
	deletesUsedImage   flaw = "deletes an image in use"
	dropsForeignTags   flaw = "drops foreign tags"
	everyErrorIsGone   flaw = "takes every error for gone"
	findsNothing       flaw = "finds nothing by mark"
	followsLinks       flaw = "follows links in a listing"
	hidesLostReply     flaw = "hides that a reply was lost"
	hidesTruncation    flaw = "hides truncation"
	identityChanges    flaw = "has another identity each time"
	ignoresIncarnation flaw = "ignores the incarnation"
	ignoresLimit       flaw = "ignores the read limit"
	keepsNetwork       flaw = "does not change the network"
	leaksEnvironment   flaw = "leaks the caller's environment"
	leavesProcesses    flaw = "leaves processes at the timeout"
	listIsOnePage      flaw = "lists one page"
	listRepeats        flaw = "lists twice"
	listStopsEarly     flaw = "ends a broken listing without an error"
	mergesTags         flaw = "merges tags"
	neverDestroys      flaw = "accepts a destroy and forgets it"
	outlastsSandbox    flaw = "lets a timeout outlast the sandbox"
	readsTwice         flaw = "writes what was read twice"
	refusalLeavesOne   flaw = "leaves a sandbox behind a refusal"
	removesAnything    flaw = "removes another leftover"
	renewalShortens    flaw = "shortens a life"
	retriesCommands    flaw = "runs a command again"
	retriesCreate      flaw = "creates again after a lost reply"
	secondDestroyFails flaw = "fails a second destroy"
)

func TestReferenceBackend(t *testing.T) {
	place := newServer(t)
	over := func(s *server, name string) func(*testing.T, *backend.Caller) backend.Backend {
		return func(_ *testing.T, caller *backend.Caller) backend.Backend {
			return &reference{server: s, caller: caller, name: name, flaw: flaw(os.Getenv(flawVariable))}
		}
	}
	backendtest.Run(t, backendtest.Factory{
		Open:      over(place, "here"),
		Elsewhere: over(newServer(t), "there"),
		Advance:   place.advance,
		Image:     backend.ImageSpec{From: "base", Commands: []string{"RUN true"}},
		Leave:     place.leave,
	})
}

// TestSuiteFailsForEveryFlaw runs the section of the suite that must notice, and
// wants the promise that is broken to fail.
func TestSuiteFailsForEveryFlaw(t *testing.T) {
	for _, test := range []struct {
		flaw    flaw
		section string
		promise string
	}{
		{identityChanges, "check", "identity and scope are stable"},
		{ignoresIncarnation, "lifecycle", "another incarnation is not it"},
		{secondDestroyFails, "lifecycle", "destroying twice is no error"},
		{neverDestroys, "lifecycle", "a destroyed sandbox is not found"},
		{findsNothing, "lifecycle", "find returns it by its mark and nothing by another"},
		{dropsForeignTags, "tags", "an edit leaves foreign keys byte for byte"},
		{mergesTags, "tags", "setting tags replaces the whole set"},
		{altersTags, "tags", "what cannot be stored is refused and never altered"},
		{listStopsEarly, "listing", "a listing that a call breaks ends in an error"},
		{listRepeats, "listing", "every sandbox is listed once"},
		{listIsOnePage, "listing", "every sandbox is listed once"},
		{refusalLeavesOne, "refusals", "create refuses exactly what refuse lists"},
		{hidesTruncation, "commands", "the tail of long output is kept and the cut is flagged"},
		{leavesProcesses, "commands", "the whole process tree ends at the timeout"},
		{leaksEnvironment, "commands", "the caller's environment does not leak"},
		{outlastsSandbox, "commands", "a timeout never outlasts the sandbox"},
		{ignoresLimit, "files", "nothing past the limit is read"},
		{followsLinks, "files", "a directory is listed sorted"},
		{retriesCreate, "lost replies", "create is resolved by its mark"},
		{hidesLostReply, "lost replies", "create is resolved by its mark"},
		{retriesCommands, "lost replies", "a command never runs twice"},
		{readsTwice, "lost replies", "a file is whole or the call fails"},
		{hidesLostReply, "given up", "a create given up after a call leaves nothing"},
		{everyErrorIsGone, "broken connection", "not authorized is never taken for gone"},
		{renewalShortens, "end of life", "a renewal never shortens a life"},
		{removesAnything, "leftovers", "a leftover is removed once it proves to be the same"},
		{buildsAnew, "images", "the same image twice is one"},
		{deletesUsedImage, "images", "a sandbox runs from it"},
		{keepsNetwork, "network", "the policy at birth is read back"},
	} {
		t.Run(string(test.flaw)+" in "+test.section, func(t *testing.T) {
			t.Parallel()
			section := "^" + strings.ReplaceAll(test.section, " ", "_") + "$"
			child := exec.Command(os.Args[0], "-test.v", "-test.run", "^TestReferenceBackend$/"+section)
			child.Env = append(os.Environ(), flawVariable+"="+string(test.flaw))
			output, err := child.CombinedOutput()

			if exit := new(exec.ExitError); !errors.As(err, &exit) {
				t.Fatalf("the suite ended with %v, want it to fail:\n%s", err, output)
			}
			failure := regexp.QuoteMeta(strings.ReplaceAll(test.section+"/"+test.promise, " ", "_"))
			if !regexp.MustCompile(`--- FAIL: TestReferenceBackend/` + failure).Match(output) {
				t.Errorf("the suite failed, but not at %q:\n%s", test.promise, output)
			}
		})
	}
}
