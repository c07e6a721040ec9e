// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// crowd adds n records without the cost of really making sandboxes.
func crowd(t testing.TB, h *host, n int) {
	t.Helper()
	rec, err := h.newRecord(request(h, sandbox.Tags{
		"airflow_owner": "etl/scheduled__2026-11-30T09:00:00+00:00", "airflow_expires_at": "1893560645",
		"airflow_network": `{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":true}`,
	}))
	must(t, err)
	for i := range n {
		rec.Handle = fmt.Sprintf("taskowned-%08d", i)
		data, err := encode(rec)
		must(t, err)
		dir := filepath.Join(h.dir, sandboxesDir, rec.Handle)
		must(t, os.Mkdir(dir, 0o711))
		must(t, os.WriteFile(filepath.Join(dir, recordFile), data, 0o600))
	}
}

func TestListingOfManyIsInByteOrderAndWhole(t *testing.T) {
	h, _ := testHost(t, place(t))
	const n = 3*listBatch + 7
	crowd(t, h, n)
	all := list(t, h)
	if len(all) != n || !slices.IsSortedFunc(all, func(a, b sandbox.Sandbox) int { return strings.Compare(a.Handle, b.Handle) }) {
		t.Errorf("%d listed, want %d in order", len(all), n)
	}
}

func TestListingGivenUpInTheMiddleIsIncomplete(t *testing.T) {
	h, _ := testHost(t, place(t))
	crowd(t, h, 2*listBatch)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	seen := 0
	for _, err := range h.List(ctx) {
		if seen++; seen == 10 {
			cancel()
		}
		last = err
	}
	if !errors.Is(last, context.Canceled) || seen > 2*listBatch {
		t.Errorf("it ended after %d with %v; want it to say that it is incomplete", seen, last)
	}
}

func TestSandboxThatVanishesWhileListedIsLeftOut(t *testing.T) {
	h, _ := testHost(t, place(t))
	crowd(t, h, 2*listBatch)
	last := sandbox.Ref{Handle: fmt.Sprintf("taskowned-%08d", 2*listBatch-1)}
	seen := 0
	for s, err := range h.List(t.Context()) {
		must(t, err)
		if seen++; seen == 1 {
			must(t, os.RemoveAll(filepath.Join(h.dir, sandboxesDir, last.Handle)))
		}
		if s.Handle == last.Handle || s.Problem != "" {
			t.Errorf("listed %+v", s)
		}
	}
	if seen != 2*listBatch-1 {
		t.Errorf("%d listed", seen)
	}
}

func TestListingWithoutDescriptorsLeftIsIncompleteAndBlamesNoRecord(t *testing.T) {
	h, _ := testHost(t, place(t))
	crowd(t, h, 2)
	st, err := openState(h.dir)
	must(t, err)
	defer st.Close()
	var limit unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}))
	_, err = st.look("taskowned-00000000")
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	wantError(t, err, backend.ErrUnavailable, "too many open files")
	if e, err := st.look("taskowned-00000000"); err != nil || e.Problem != "" {
		t.Errorf("afterwards %+v, %v", e, err)
	}
}

// BenchmarkList10000 is what the janitor pays for a look at a large host.
func BenchmarkList10000(b *testing.B) {
	h, _ := testHost(b, place(b))
	crowd(b, h, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range h.List(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 10_000 {
			b.Fatal(n)
		}
	}
}

// BenchmarkCreateDestroy is one life without a command in it.
func BenchmarkCreateDestroy(b *testing.B) {
	h, _ := testHost(b, place(b))
	for b.Loop() {
		made, err := backend.Create(b.Context(), h, request(h, nil))
		if err != nil {
			b.Fatal(err)
		}
		if err := h.Destroy(b.Context(), made.Ref); err != nil {
			b.Fatal(err)
		}
	}
}

func TestBatchThatHasToBeReadAgainIsListedOnce(t *testing.T) {
	h, _ := testHost(t, place(t))
	made := []string{create(t, h, nil).Handle, create(t, h, nil).Handle}
	slices.Sort(made)
	calls := 0
	h.caller.Intercept = func(ctx context.Context, call backend.Call, attempt func(context.Context) error) error {
		calls++
		if err := attempt(ctx); err != nil || calls != 2 {
			return err
		}
		return fmt.Errorf("%w: a lost batch", backend.ErrUnavailable)
	}
	h.caller.MinWait = time.Millisecond
	var got []string
	for _, s := range list(t, h) {
		got = append(got, s.Handle)
	}
	if calls != 3 || !slices.Equal(got, made) { // the names, the batch twice
		t.Errorf("%d calls listed %v, want %v", calls, got, made)
	}
}

func TestListingEndsWithItsContextBetweenTwoBatches(t *testing.T) {
	h, _ := testHost(t, place(t))
	made := create(t, h, nil)
	record, err := os.ReadFile(filepath.Join(h.dir, sandboxesDir, made.Handle, recordFile))
	must(t, err)
	for n := range listBatch {
		handle := fmt.Sprintf("a-%d", n) // before the other one
		dir := filepath.Join(h.dir, sandboxesDir, handle)
		must(t, os.Mkdir(dir, 0o711))
		must(t, os.WriteFile(filepath.Join(dir, recordFile), bytes.ReplaceAll(record, []byte(made.Handle), []byte(handle)), 0o600))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	var last error
	for _, err := range h.List(ctx) {
		cancel() // with the first one
		seen, last = seen+1, err
	}
	if seen != listBatch+1 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d were listed, the last with %v; want a batch and the end", seen, last)
	}
}
