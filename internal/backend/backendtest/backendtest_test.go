// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend/backendtest"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// flawVariable names, in a child process, the flaw that TestReferenceBackend is
// to have.
const flawVariable = "BACKENDTEST_FLAW"

// flaw is one way to break a promise.
type flaw string

const (
	altersTags         flaw = "alters tags it cannot store"
	buildsAnew         flaw = "builds the same image anew"
	cleansOutput       flaw = "cleans output"
	convertsLines      flaw = "converts line ends"
	createsRefused     flaw = "creates what it refuses"
	deletesUsedImage   flaw = "deletes an image in use"
	dropsForeignTags   flaw = "drops foreign tags"
	editsUnlocked      flaw = "edits tags without a lock"
	everyErrorIsGone   flaw = "takes every error for gone"
	findsNothing       flaw = "finds nothing by mark"
	followsLinks       flaw = "follows links in a listing"
	hidesLag           flaw = "hides that a create goes on"
	hidesLostReply     flaw = "hides that a reply was lost"
	hidesTruncation    flaw = "hides truncation"
	identityChanges    flaw = "has another identity each time"
	ignoresIncarnation flaw = "ignores the incarnation"
	ignoresLimit       flaw = "ignores the read limit"
	joinsArguments     flaw = "joins arguments"
	keepsHead          flaw = "keeps the head of output"
	keepsNetwork       flaw = "does not change the network"
	leadsOut           flaw = "follows links out of the sandbox"
	leaksEnvironment   flaw = "leaks the caller's environment"
	leavesProcesses    flaw = "leaves processes at the timeout"
	lateBlock          flaw = "blocks the network for new commands only"
	listIsOnePage      flaw = "lists one page"
	listRepeats        flaw = "lists twice"
	listStopsEarly     flaw = "ends a broken listing without an error"
	mergesTags         flaw = "merges tags"
	missingIsGone      flaw = "takes a missing file for a missing sandbox"
	mixesUp            flaw = "mixes up sandboxes"
	neverDestroys      flaw = "accepts a destroy and forgets it"
	neverEnds          flaw = "ends no sandbox"
	outlastsSandbox    flaw = "lets a timeout outlast the sandbox"
	readsTwice         flaw = "writes what was read twice"
	refusalLeavesOne   flaw = "leaves a sandbox behind a refusal"
	removesAnything    flaw = "removes another leftover"
	renewalShortens    flaw = "shortens a life"
	retriesCommands    flaw = "runs a command again"
	retriesCreate      flaw = "creates again after a lost reply"
	runsOn             flaw = "lets commands outlive their sandbox"
	oldTime            flaw = "tells an old time"
	sameIdentity       flaw = "has the same identity everywhere"
	secondDestroyFails flaw = "fails a second destroy"
)

func TestReferenceBackend(t *testing.T) {
	place := newServer(t)
	over := func(s *server, name string) func(*testing.T, *backend.Caller) backend.Backend {
		return func(_ *testing.T, caller *backend.Caller) backend.Backend {
			r := &reference{server: s, caller: caller, name: name, flaw: s.flaw}
			switch r.flaw {
			case editsUnlocked:
				return carelessEditor{r}
			case noTags:
				return poor{r, backend.NoTags}
			case tagsAtBirth:
				return poor{r, backend.TagsAtBirth}
			}
			return r
		}
	}
	stranger := plant(t, place)
	backendtest.Run(t, backendtest.Factory{
		Open:      over(place, "here"),
		Elsewhere: over(newServer(t), "there"),
		Advance:   place.advance,
		Image:     backend.ImageSpec{From: "base", Commands: []string{"RUN true"}},
		Reach:     reach(t),
		Leave:     place.leave,
	})
	if left := place.named(stranger.Name); len(left) != 1 || left[0].Ref != stranger.Ref {
		t.Errorf("of another's sandbox the suite left %+v, want %+v", left, stranger.Ref)
	}
}

// reach returns a command that succeeds in the network of this machine, where it
// finds a port that is listened on.
func reach(t *testing.T) []string {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return []string{"grep", "-q", fmt.Sprintf(":%04X 00000000:0000 0A", listener.Addr().(*net.TCPAddr).Port), "/proc/self/net/tcp"}
}

// plant makes a sandbox of somebody else, which the suite must tolerate and
// leave alone.
func plant(t *testing.T, s *server) sandbox.Sandbox {
	t.Helper()
	made, err := s.create(backend.Request{Name: "another", ExpiresAt: s.now().Add(1000 * time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	s.records[made.Handle].Problem = "a record that cannot be read"
	return made
}

// The flaws that are none: what a vendor may lack.
const (
	noTags      flaw = "has no tags"
	tagsAtBirth flaw = "has tags at birth only"
)

// runReference runs TestReferenceBackend with a flaw, and of it what promise
// matches, in a child process.
func runReference(f flaw, promise string) ([]byte, error) {
	child := exec.Command(os.Args[0], "-test.v", "-test.run", "^TestReferenceBackend$/^"+strings.ReplaceAll(promise, "/", "$/^")+"$")
	child.Env = append(os.Environ(), flawVariable+"="+string(f))
	return child.CombinedOutput()
}

// TestSuiteFailsForEveryFlaw runs the promise that a flaw breaks in a child process,
// and wants it to fail there.
func TestSuiteFailsForEveryFlaw(t *testing.T) {
	for _, test := range []struct {
		flaw    flaw
		section string
		promise string
	}{
		{identityChanges, "check", "identity and scope are stable"},
		{sameIdentity, "check", "another location is told apart"},
		{oldTime, "check", "a check tells how far its clock is from ours"},
		{ignoresIncarnation, "lifecycle", "another incarnation is not it"},
		{secondDestroyFails, "lifecycle", "destroying twice is no error"},
		{neverDestroys, "lifecycle", "a destroyed sandbox is not found"},
		{findsNothing, "lifecycle", "find returns it by its mark and nothing by another"},
		{dropsForeignTags, "tags", "an edit leaves foreign keys byte for byte"},
		{mergesTags, "tags", "setting tags replaces the whole set"},
		{editsUnlocked, "tags", "edits at once lose nothing"},
		{altersTags, "tags", "what cannot be stored is refused and never altered"},
		{listStopsEarly, "listing", "a listing that a call breaks ends in an error"},
		{listRepeats, "listing", "every sandbox is listed once"},
		{listIsOnePage, "listing", "every sandbox is listed once"},
		{createsRefused, "refusals", "create refuses exactly what refuse lists/a GPU"},
		{refusalLeavesOne, "refusals", "create refuses exactly what refuse lists/a GPU"},
		{joinsArguments, "commands", "arguments arrive byte for byte"},
		{cleansOutput, "commands", "standard input arrives byte for byte"},
		{keepsHead, "commands", "the tail of long output is kept and the cut is flagged"},
		{hidesTruncation, "commands", "the tail of long output is kept and the cut is flagged"},
		{leavesProcesses, "commands", "the whole process tree ends at the timeout"},
		{leavesProcesses, "commands", "the whole process tree ends when it is given up"},
		{runsOn, "commands", "a destroy ends what runs"},
		{leaksEnvironment, "commands", "the caller's environment does not leak"},
		{outlastsSandbox, "commands", "a timeout never outlasts the sandbox"},
		{convertsLines, "files", "files are kept byte for byte"},
		{missingIsGone, "files", "a missing path is told apart from a missing sandbox"},
		{leadsOut, "files", "no path leads out of the sandbox"},
		{ignoresLimit, "files", "nothing past the limit is read"},
		{followsLinks, "files", "a directory is listed sorted"},
		{retriesCreate, "lost replies", "create is resolved by its mark"},
		{hidesLostReply, "lost replies", "create is resolved by its mark"},
		{retriesCommands, "lost replies", "a command never runs twice"},
		{readsTwice, "lost replies", "a file is whole or the call fails"},
		{hidesLag, "given up", "a create given up before a call leaves nothing"},
		{everyErrorIsGone, "broken connection", "not authorized is never taken for gone"},
		{neverEnds, "end of life", "nothing is used past its end"},
		{renewalShortens, "end of life", "a renewal never shortens a life"},
		{removesAnything, "leftovers", "a leftover is removed once it proves to be the same"},
		{buildsAnew, "images", "the same image twice is one"},
		{deletesUsedImage, "images", "a sandbox runs from it"},
		{mixesUp, "concurrent use", "many lives at once do not disturb each other"},
		{keepsNetwork, "network", "the policy at birth is read back"},
		{lateBlock, "network", "blocked in place is blocked for what runs already"},
	} {
		t.Run(string(test.flaw)+": "+test.promise, func(t *testing.T) {
			t.Parallel()
			promise := strings.ReplaceAll(test.section+"/"+test.promise, " ", "_")
			output, err := runReference(test.flaw, promise)
			if exit := new(exec.ExitError); !errors.As(err, &exit) || !strings.Contains(string(output), "--- FAIL: TestReferenceBackend/"+promise) {
				t.Fatalf("the suite ended with %v, want it to fail at %q:\n%s", err, test.promise, output)
			}
		})
	}
}
