// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// held puts another run's claim into the store.
func held(ctx context.Context, t *testing.T, store Store, run Run) {
	t.Helper()
	document, version, err := store.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	document.Run = run
	if _, err := store.Save(ctx, document, version); err != nil {
		t.Fatal(err)
	}
}

func TestDocumentHeldByALiveRunIsBusy(t *testing.T) {
	for _, c := range []struct {
		name string
		run  Run
		gone bool
		busy bool
	}{
		{"live", Run{ID: "x", Host: "there", Process: "p", Until: noon.Add(time.Minute)}, false, true},
		{"lapsed", Run{ID: "x", Process: "p", Until: noon}, false, false},
		{"its process is gone", Run{ID: "x", Process: "p", Until: noon.Add(time.Minute)}, true, false},
		{"it claims longer than any run lasts", Run{ID: "x", Process: "p", Until: noon.Add(24 * time.Hour)}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(dead("dead"))
			opts := enforcing(l)
			opts.Gone = func(process string) bool { return c.gone && process == "p" }
			held(t.Context(), t, opts.Store, c.run)
			result := sweep(t, opts)
			if busy := result.Exit == ExitBusy; busy != c.busy || busy != (len(l.asked) == 0) {
				t.Errorf("exit %d, asked %q", result.Exit, l.asked)
			}
			if c.busy && (result.Busy == nil || result.Busy.Host != "there") {
				t.Errorf("it does not say who: %+v", result.Busy)
			}
		})
	}
}

// rival is a store that somebody else claims between a run's Load and its Save.
type rival struct{ Store }

func (r rival) Save(ctx context.Context, d Document, v Version) (Version, error) {
	if d.Run.Host != "there" {
		other := d
		other.Run = Run{ID: "x", Host: "there", Until: noon.Add(time.Minute)}
		if _, err := r.Store.Save(ctx, other, v); err != nil {
			return "", err
		}
	}
	return r.Store.Save(ctx, d, v)
}

func TestOfTwoRunsThatLoadTheSameDocumentOneIsBusy(t *testing.T) {
	l := newLab(dead("dead"))
	opts := enforcing(l)
	opts.Store = rival{opts.Store}
	result := sweep(t, opts)
	if result.Exit != ExitBusy || result.Busy.Host != "there" || len(l.asked) > 0 {
		t.Errorf("exit %d, busy %+v, asked %q", result.Exit, result.Busy, l.asked)
	}
}

func TestRunThatWasOvertakenAsksNothingMore(t *testing.T) {
	l := newLab(dead("first"), dead("second"))
	opts := enforcing(l)
	l.onDestroy = func(ctx context.Context, _ sandbox.Ref) error {
		held(ctx, t, opts.Store, Run{ID: "x", Host: "there", Until: noon.Add(time.Hour)})
		return nil
	}
	result := sweep(t, opts)
	expect(t, "asked", l.asked, []string{"first"})
	expect(t, "said", said(result), []string{"first asked", "second postponed"})
	document, _, err := opts.Store.Load(t.Context())
	if err != nil || document.Run.ID != "x" || result.Exit != ExitPartial {
		t.Errorf("the other's claim is %+v, exit %d, error %v", document.Run, result.Exit, err)
	}
}

func TestRunGivesTheDocumentBack(t *testing.T) {
	opts := enforcing(newLab(dead("dead")))
	sweep(t, opts)
	document, _, err := opts.Store.Load(t.Context())
	if err != nil || document.Run != (Run{}) {
		t.Errorf("held by %+v, error %v", document.Run, err)
	}
}

func TestDocumentOfANewerProgramIsRefused(t *testing.T) {
	opts := enforcing(newLab(dead("dead")))
	if _, err := opts.Store.Save(t.Context(), Document{Schema: DocumentSchema + 1}, ""); err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]func(context.Context, Options) (Result, error){"sweep": Sweep, "plan": Plan} {
		if _, err := try(t.Context(), opts); err == nil || !strings.Contains(err.Error(), "newer program") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// faulty is a store whose saves fail, before or after they take effect.
type faulty struct {
	Store
	saves  int
	failAt []int
	after  bool
}

var errReply = errors.New("connection reset")

func (f *faulty) Save(ctx context.Context, d Document, v Version) (Version, error) {
	f.saves++
	fails := slices.Contains(f.failAt, f.saves)
	if fails && !f.after {
		return "", errReply
	}
	version, err := f.Store.Save(ctx, d, v)
	if fails {
		return "", errReply
	}
	return version, err
}

func TestSaveWhoseReplyIsLostCounts(t *testing.T) {
	l := newLab(dead("dead"))
	opts := enforcing(l)
	opts.Store = &faulty{Store: opts.Store, failAt: []int{1, 2, 3}, after: true}
	result := sweep(t, opts)
	expect(t, "said", said(result), []string{"dead reclaimed"})
	if result.Unsaved != "" || result.Exit != ExitClean {
		t.Errorf("unsaved %q, exit %d", result.Unsaved, result.Exit)
	}
}

func TestNothingIsAskedWithoutAClaimOrASavedIntent(t *testing.T) {
	l := newLab(dead("dead"))
	opts := enforcing(l)
	opts.Store = &faulty{Store: opts.Store, failAt: []int{1}}
	if _, err := Sweep(t.Context(), opts); !errors.Is(err, errReply) {
		t.Errorf("without a claim: %v", err)
	}
	opts.Store = &faulty{Store: opts.Store, failAt: []int{2}} // the first claims
	result := sweep(t, opts)
	expect(t, "without an intent", said(result), []string{"dead postponed"})
	if len(l.asked) > 0 || result.Exit != ExitPartial || result.Unsaved == "" {
		t.Errorf("asked %q, exit %d, unsaved %q", l.asked, result.Exit, result.Unsaved)
	}
}

func TestReclaimedIsSaidOnlyOnceItIsSaved(t *testing.T) {
	l := newLab(dead("dead"), alive("alive"))
	opts := enforcing(l)
	memory := opts.Store
	opts.Store = &faulty{Store: memory, failAt: []int{3}}
	result := sweep(t, opts)
	expect(t, "unsaved", said(result), []string{"dead asked"})
	if result.Unsaved == "" || result.Exit != ExitPartial {
		t.Errorf("unsaved %q, exit %d", result.Unsaved, result.Exit)
	}
	opts.Store = memory
	opts.advance(time.Hour) // the claim has lapsed
	expect(t, "saved", said(sweep(t, opts)), []string{"dead reclaimed"})
	expect(t, "afterwards", said(sweep(t, opts)), nil)
}

func TestWhatASavedDocumentHoldsComesBack(t *testing.T) {
	opts := enforcing(newLab(dead("dead")))
	l := opts.Connections[0].Backend.(*lab)
	l.leave("trash")
	sweep(t, opts)
	document, _, err := opts.Store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	var back Document
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(document, back); diff != "" {
		t.Error(diff)
	}
	scope := back.Scopes["lab:1"]
	if !scope.LastComplete.Equal(noon) || scope.LastCount != 0 || len(scope.Marks) != 2 {
		t.Errorf("remembered %+v", scope)
	}
}

func TestScopesOfOtherConnectionsStay(t *testing.T) {
	opts := enforcing(newLab())
	other := Scope{LastLook: noon, Marks: verdict.Marks{}}
	if _, err := opts.Store.Save(t.Context(), Document{Schema: 1, Scopes: map[string]Scope{"other": other}}, ""); err != nil {
		t.Fatal(err)
	}
	sweep(t, opts)
	document, _, _ := opts.Store.Load(t.Context())
	if diff := cmp.Diff(other, document.Scopes["other"]); diff != "" {
		t.Error(diff)
	}
}

func TestMemoryRefusesAStaleVersion(t *testing.T) {
	store := NewMemory()
	first, err := store.Save(t.Context(), Document{}, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Save(t.Context(), Document{}, ""); !errors.Is(err, ErrConflict) {
		t.Errorf("a second first: %v", err)
	}
	if _, err := store.Save(t.Context(), Document{}, first); err != nil {
		t.Error(err)
	}
	if _, err := store.Save(t.Context(), Document{}, first); !errors.Is(err, ErrConflict) {
		t.Errorf("a stale version: %v", err)
	}
}

func TestClaimOutlastsTheLongestRun(t *testing.T) {
	l := newLab(alive("alive"))
	l.leave("trash")
	opts := enforcing(l)
	sweep(t, opts)
	opts.advance(25 * time.Hour)
	began := opts.Clock.Now()
	lists := 0
	l.onList = func(ctx context.Context) error {
		switch lists++; lists {
		case 2: // the fresh read ends just before the deadline
			opts.advance(DefaultRunDeadline - time.Second)
		case 3: // reading it again takes as long as it may, as did the calls between
			opts.advance(2*DefaultCallTimeout + DefaultListTimeout)
		}
		document, _, err := opts.Store.Load(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if now := opts.Clock.Now(); !now.Before(document.Run.Until) {
			t.Errorf("another may take over %s after the begin, at listing %d", now.Sub(began), lists)
		}
		return nil
	}
	sweep(t, opts)
	if lists != 3 {
		t.Errorf("%d listings", lists)
	}
}

func TestOutcomesThatCannotBeSavedDoNotSpendTheAttempts(t *testing.T) {
	l := newLab(dead("stuck"))
	l.onDestroy = func(context.Context, sandbox.Ref) error { return errStays }
	opts := enforcing(l)
	opts.Gone = func(string) bool { return true } // each run is a process that has ended
	memory := opts.Store
	for range 60 { // minutes
		opts.Store = &faulty{Store: memory, failAt: []int{3}} // the claim and the intents are saved
		sweep(t, opts)
		opts.advance(time.Minute)
	}
	if len(l.asked) != 4 { // after 0, 1, 11 and 31 minutes
		t.Errorf("asked %d times", len(l.asked))
	}
}
