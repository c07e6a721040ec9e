// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backend_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// fleet is a backend that lists n sandboxes, and knows by id what it is given.
func fleet(n int, byID ...sandbox.Sandbox) *scripted {
	return &scripted{
		list: func(context.Context) ([]sandbox.Sandbox, error) {
			all := make([]sandbox.Sandbox, n)
			for i := range all {
				all[i] = running(fmt.Sprintf("sb-%d", i), time.Time{})
			}
			return all, nil
		},
		get: func(ref sandbox.Ref) (sandbox.Sandbox, error) {
			for _, s := range byID {
				if s.Handle == ref.Handle {
					return s, nil
				}
			}
			return sandbox.Sandbox{}, backend.ErrNotFound
		},
	}
}

func handle(i int) sandbox.Ref { return sandbox.Ref{Handle: fmt.Sprintf("sb-%d", i)} }

func wantCalls(t *testing.T, b *scripted, lists, gets int) {
	t.Helper()
	if b.count("list") != lists || b.count("get") != gets {
		t.Errorf("%d listings, %d reads by id; want %d, %d", b.count("list"), b.count("get"), lists, gets)
	}
}

func TestAThousandReadsAreOneListing(t *testing.T) {
	b := fleet(1000)
	snapshot := backend.NewSnapshot(b)
	var all sync.WaitGroup
	for i := range 1000 {
		all.Go(func() {
			if got, err := snapshot.Get(t.Context(), handle(i)); err != nil || got.Ref != handle(i) {
				t.Errorf("Get(%d) = %+v, %v", i, got.Ref, err)
			}
		})
	}
	all.Wait()
	wantCalls(t, b, 1, 0)
}

func TestTheListingTellsWhatReplacesASandbox(t *testing.T) {
	b := fleet(2)
	next := running("next", time.Time{})
	next.Tags = sandbox.Tags{sandbox.TagReplaces: handle(0).Handle}
	b.list = func(context.Context) ([]sandbox.Sandbox, error) {
		return []sandbox.Sandbox{next, running(handle(0).Handle, time.Time{}), running(handle(1).Handle, time.Time{})}, nil
	}
	snapshot := backend.NewSnapshot(b)
	if got := snapshot.Replacing(handle(0).Handle); len(got) > 0 {
		t.Errorf("before a listing it tells of %v", got)
	}
	if _, err := snapshot.Get(t.Context(), handle(1)); err != nil {
		t.Fatal(err)
	}
	if got := snapshot.Replacing(handle(0).Handle); len(got) != 1 || got[0].Handle != "next" {
		t.Errorf("it tells of %v", got)
	}
	if got := snapshot.Replacing(handle(1).Handle); len(got) > 0 {
		t.Errorf("of what nothing replaces it tells %v", got)
	}
	wantCalls(t, b, 1, 0)
}

func TestWhatTheListingDoesNotShowIsReadByID(t *testing.T) {
	partly := running("partly", time.Time{})
	partly.Tags, partly.TagsKnown = nil, false
	broken := running("broken", time.Time{})
	broken.Problem = "unreadable"
	reborn := running("reborn", time.Time{})
	reborn.Incarnation = "second"

	b := fleet(0, running("late", time.Time{}), running("partly", time.Time{}), running("broken", time.Time{}))
	b.list = func(context.Context) ([]sandbox.Sandbox, error) {
		return []sandbox.Sandbox{partly, broken, reborn}, nil
	}
	snapshot := backend.NewSnapshot(b)
	for _, name := range []string{"late", "partly", "broken"} {
		got, err := snapshot.Get(t.Context(), sandbox.Ref{Handle: name})
		if err != nil || !got.TagsKnown || got.Problem != "" {
			t.Errorf("Get(%s) = %+v, %v; want the read by id", name, got, err)
		}
	}
	for _, ref := range []sandbox.Ref{{Handle: "absent"}, {Handle: "reborn", Incarnation: "first"}} {
		if _, err := snapshot.Get(t.Context(), ref); !errors.Is(err, backend.ErrNotFound) {
			t.Errorf("Get(%+v) = %v, want not found", ref, err)
		}
	}
	for _, ref := range []sandbox.Ref{{Handle: "reborn", Incarnation: "second"}, {Handle: "reborn"}} {
		if _, err := snapshot.Get(t.Context(), ref); err != nil {
			t.Errorf("Get(%+v): %v", ref, err)
		}
	}
	wantCalls(t, b, 1, 5)
}

func TestOwnWritesAreReadByID(t *testing.T) {
	changed := running("sb-1", time.Time{})
	changed.Tags = sandbox.Tags{"new": "yes"}
	b := fleet(2, changed)
	snapshot := backend.NewSnapshot(b)
	_, _ = snapshot.Get(t.Context(), handle(1))
	snapshot.Forget(handle(1))
	if got, err := snapshot.Get(t.Context(), handle(1)); err != nil || got.Tags["new"] != "yes" {
		t.Errorf("Get = %+v, %v; want what was written", got, err)
	}
	wantCalls(t, b, 1, 1)
}

func TestAListingThatBeganBeforeAWriteIsNotUsedForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed := running("sb-1", time.Time{})
		changed.Tags = sandbox.Tags{"new": "yes"}
		b := fleet(2, changed)
		list, listing := b.list, make(chan struct{})
		b.list = func(ctx context.Context) ([]sandbox.Sandbox, error) {
			all, err := list(ctx)
			<-listing
			return all, err
		}
		snapshot := backend.NewSnapshot(b)
		go func() {
			if got, err := snapshot.Get(t.Context(), handle(1)); err != nil || got.Tags["new"] != "yes" {
				t.Errorf("Get = %+v, %v; want what was written meanwhile", got, err)
			}
		}()
		synctest.Wait()
		snapshot.Forget(handle(1))
		close(listing)
		synctest.Wait()
		wantCalls(t, b, 1, 1)
	})
}

func TestOneDeadlineIsNotRunIntoAThousandTimes(t *testing.T) {
	for _, class := range []error{backend.ErrUnauthorized, backend.ErrUnavailable} {
		t.Run(class.Error(), func(t *testing.T) {
			b := fleet(0)
			b.list = func(context.Context) ([]sandbox.Sandbox, error) { return nil, class }
			snapshot := backend.NewSnapshot(b)
			var all sync.WaitGroup
			for i := range 100 {
				all.Go(func() {
					if _, err := snapshot.Get(t.Context(), handle(i)); !errors.Is(err, class) {
						t.Errorf("Get = %v, want %v", err, class)
					}
				})
			}
			all.Wait()
			wantCalls(t, b, 1, 0)
		})
	}
}

func TestAReadByIDThatIsUnavailableIsRemembered(t *testing.T) {
	b := fleet(1)
	b.get = func(sandbox.Ref) (sandbox.Sandbox, error) { return sandbox.Sandbox{}, backend.ErrUnavailable }
	snapshot := backend.NewSnapshot(b)
	for range 3 {
		if _, err := snapshot.Get(t.Context(), handle(7)); !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("Get = %v, want unavailable", err)
		}
	}
	wantCalls(t, b, 1, 1)
}

func TestOtherErrorsAreOnlyOneReaders(t *testing.T) {
	b := fleet(1)
	list, failures := b.list, 1
	b.list = func(ctx context.Context) ([]sandbox.Sandbox, error) {
		all, err := list(ctx)
		if failures--; failures >= 0 {
			err = errors.New("page 2: unexpected end")
		}
		return all, err
	}
	snapshot := backend.NewSnapshot(b)
	if _, err := snapshot.Get(t.Context(), handle(0)); err == nil {
		t.Error("an incomplete listing was believed")
	}
	if _, err := snapshot.Get(t.Context(), handle(0)); err != nil {
		t.Errorf("the next reader: %v", err)
	}
	wantCalls(t, b, 2, 0)
}

func TestAReaderThatGivesUpDoesNotHarmTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := fleet(2)
		list := b.list
		b.list = func(ctx context.Context) ([]sandbox.Sandbox, error) {
			if ctx.Value(t) != nil {
				<-ctx.Done()
				return nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, ctx.Err())
			}
			return list(ctx)
		}
		snapshot := backend.NewSnapshot(b)
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), t, true))
		go func() {
			if _, err := snapshot.Get(ctx, handle(0)); !errors.Is(err, context.Canceled) {
				t.Errorf("the first reader: %v, want canceled", err)
			}
		}()
		synctest.Wait()
		impatient, leave := context.WithCancel(t.Context())
		go func() {
			if _, err := snapshot.Get(impatient, handle(0)); !errors.Is(err, context.Canceled) {
				t.Errorf("the impatient reader: %v, want canceled", err)
			}
		}()
		go func() {
			if _, err := snapshot.Get(t.Context(), handle(1)); err != nil {
				t.Errorf("the patient reader: %v", err)
			}
		}()
		synctest.Wait()
		leave()
		synctest.Wait()
		cancel()
		synctest.Wait()
		wantCalls(t, b, 2, 0)
	})
}

func TestListingAfterAWriteCostsOneReadByID(t *testing.T) {
	written := running("sb-0", time.Time{})
	written.Tags = sandbox.Tags{"team": "new"}
	b := fleet(3, written, running("made", time.Time{}))
	snapshot := backend.NewSnapshot(b)
	if _, err := snapshot.Get(t.Context(), handle(2)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sb-0", "sb-1", "made"} { // changed, destroyed, made
		snapshot.Forget(sandbox.Ref{Handle: name})
	}
	all, err := snapshot.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range all {
		got = append(got, s.Handle+s.Tags["team"])
	}
	if want := []string{"made", "sb-0new", "sb-2"}; !slices.Equal(got, want) {
		t.Errorf("All() = %v, want %v", got, want)
	}
	wantCalls(t, b, 1, 3)
}

func TestListingThatBreaksIsNoListing(t *testing.T) {
	b := fleet(0)
	b.list = func(context.Context) ([]sandbox.Sandbox, error) { return nil, backend.ErrUnavailable }
	snapshot := backend.NewSnapshot(b)
	for range 2 {
		if all, err := snapshot.All(t.Context()); !errors.Is(err, backend.ErrUnavailable) || all != nil {
			t.Errorf("All() = %v, %v", all, err)
		}
	}
	wantCalls(t, b, 1, 0)
}
