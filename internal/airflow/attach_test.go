// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

type attachTable struct {
	header
	Now     float64 `json:"now"`
	Release []struct {
		VendorError string    `json:"vendor_error"`
		Outcome     string    `json:"outcome"`
		Reads       int       `json:"tag_reads"`
		Pauses      []float64 `json:"pauses_seconds"`
		HolderLeft  bool      `json:"holder_left"`
		LogLevels   []string  `json:"log_levels"`
	} `json:"modal_release"`
	Cases []attachRow `json:"cases"`
}

type attachRow struct {
	Name          string                     `json:"name"`
	Operation     string                     `json:"operation"`
	Before        sandbox.Tags               `json:"tags_before"`
	Handle        any                        `json:"handle"`
	Owner         string                     `json:"owner"`
	Argument      *string                    `json:"owner_argument"`
	Holder        string                     `json:"holder"`
	Interference  map[string]json.RawMessage `json:"interference"`
	Outcome       string                     `json:"outcome"`
	Reason        string                     `json:"reason"`
	Terminal      bool                       `json:"terminal"`
	Remaining     *float64                   `json:"remaining_seconds"`
	NetworkKnown  bool                       `json:"network_known"`
	Workdir       *string                    `json:"workdir"`
	After         sandbox.Tags               `json:"tags_after"`
	During        sandbox.Tags               `json:"tags_during"`
	Entered       bool                       `json:"entered"`
	ReleasePauses []float64                  `json:"release_pauses_seconds"`
	Abbreviated   string                     `json:"abbreviated"`
	Reads         int                        `json:"reads"`
	Writes        int                        `json:"writes"`
	Calls         []string                   `json:"calls"`
}

// These rows are about the loop around attach and release that lives in
// Airflow's toolset (choice of owner and holder, handle checks, retries of the
// release): internal/interop runs them against the released Airflow.
const needsToolset = "needs Airflow's own toolset"

func TestAttachAndReleaseWriteWhatAirflowWrites(t *testing.T) {
	elsewhere := except(map[string]string{
		"toolset_default_owner_in_task":                 needsToolset,
		"toolset_explicit_owner_in_task":                needsToolset,
		"toolset_body_raises_still_released":            needsToolset,
		"toolset_outside_task_owner_is_holder":          needsToolset,
		"toolset_outside_task_no_owner":                 needsToolset,
		"toolset_retry_same_holder":                     needsToolset,
		"toolset_release_fails_twice_then_works":        needsToolset,
		"toolset_release_fails_three_times_holder_left": needsToolset,
		"toolset_release_finds_sandbox_gone":            needsToolset,
		"toolset_release_python_errors_retried":         needsToolset,
		"toolset_attach_recoverable":                    needsToolset,
		"toolset_reread_recoverable_claim_left":         needsToolset,
		"toolset_handle_None_string":                    needsToolset,
		"toolset_handle_rendered_none":                  needsToolset,
		"toolset_handle_rendered_empty":                 needsToolset,
		"toolset_handle_rendered_number":                needsToolset,
		"toolset_expiry_infinite_crashes_holder_left":   needsToolset,
		"toolset_expired":                               needsToolset,
		"toolset_holder_taken_over_during_run":          needsToolset,
		"network_deep_nesting_crashes_after_claim":      "Python's recursion limit; the decoder's test has the same tag, which we call unreadable",
	})
	table := readTable[attachTable](t, "attach.json")
	now := time.Unix(int64(table.Now), 0)
	for _, row := range table.Cases {
		if elsewhere.covers(row.Name) {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			s := &tagStore{tags: row.Before, interference: row.Interference}
			switch row.Operation {
			case "attach":
				row.checkAttached(t, s, now)
			case "release":
				outcome, reason := "returned", ""
				if err := s.release(row.Holder); err != nil {
					outcome, reason = "raised", reasonOf(err)
				}
				if outcome != row.Outcome || reason != row.Reason {
					t.Errorf("%s %s, want %s %s", outcome, reason, row.Outcome, row.Reason)
				}
			default:
				t.Fatal("a row this test does not understand")
			}
			if diff := cmp.Diff(row.Calls, s.calls); diff != "" {
				t.Errorf("calls: -airflow +ours\n%s", diff)
			}
			if row.After != nil {
				if diff := cmp.Diff(row.After, s.tags); diff != "" {
					t.Errorf("tags afterwards: -airflow +ours\n%s", diff)
				}
			}
		})
	}
	elsewhere.complete(t)
}

func (row attachRow) checkAttached(t *testing.T, s *tagStore, now time.Time) {
	t.Helper()
	tags, err := s.attach(row.Owner, row.Holder)
	if err != nil {
		if row.Outcome != "refused" || reasonOf(err) != row.Reason {
			t.Errorf("refused with %v, want %s %s", err, row.Outcome, row.Reason)
		}
		return
	}
	if row.Outcome != "attached" {
		t.Fatalf("attached, want %s %s", row.Outcome, row.Reason)
	}
	left, known := Remaining(tags[TagExpiresAt], now)
	if known != (row.Remaining != nil) || known && left != *row.Remaining || math.IsInf(left, 1) {
		t.Errorf("remaining %v, %t", left, known)
	}
	if _, err := DecodeNetwork(tags[TagNetwork]); (err == nil) != row.NetworkKnown {
		t.Errorf("network known: %t, %v", row.NetworkKnown, err)
	}
	if workdir := tags[TagWorkdir]; (workdir != "") != (row.Workdir != nil) || workdir != "" && workdir != *row.Workdir {
		t.Errorf("workdir %q", workdir)
	}
}

// What a release makes of a vendor's error is decided in Airflow's toolset and
// in its Modal backend: internal/interop runs these against the released Airflow.
func TestRowsAboutFailingReleasesAreKnownByName(t *testing.T) {
	const needsModal = "needs Airflow's own toolset and its Modal backend"
	elsewhere := except(map[string]string{
		"NotFoundError":          needsModal,
		"SandboxTerminatedError": needsModal,
		"SandboxTimeoutError":    needsModal,
		"AuthError":              needsModal,
		"PermissionDeniedError":  needsModal,
		"InvalidError":           needsModal,
		"ConflictError":          needsModal,
		"ConnectionError":        needsModal,
		"ServiceError":           needsModal,
		"InternalError":          needsModal,
		"ResourceExhaustedError": needsModal,
	})
	for _, row := range readTable[attachTable](t, "attach.json").Release {
		if !elsewhere.covers(row.VendorError) {
			t.Errorf("a new row, %s, that nothing checks", row.VendorError)
		}
	}
	elsewhere.complete(t)
}

// tagStore is one sandbox's tags, with others writing in between.
type tagStore struct {
	tags          sandbox.Tags
	interference  map[string]json.RawMessage
	calls         []string
	reads, writes int
}

var (
	errGone        = errors.New("sandbox_gone")
	errRecoverable = errors.New("vendor_recoverable")
	errLostClaim   = errors.New("lost_the_claim")
)

func (s *tagStore) read() (sandbox.Tags, error) {
	s.calls = append(s.calls, "read")
	s.reads++
	if err := s.interfere(fmt.Sprintf("read%d", s.reads)); err != nil {
		return nil, err
	}
	if s.tags == nil {
		return nil, errGone
	}
	return s.tags.Clone(), nil
}

func (s *tagStore) write(tags sandbox.Tags) error {
	s.calls = append(s.calls, "write")
	s.writes++
	if err := s.interfere(fmt.Sprintf("before_write%d", s.writes)); err != nil {
		return err
	}
	after := fmt.Sprintf("write%d", s.writes)
	var word string
	if json.Unmarshal(s.interference[after], &word) == nil && word != "" {
		if word == "lost" {
			return nil
		}
		return s.interfere(after)
	}
	s.tags = tags
	return s.interfere(after)
}

// interfere does what the table asks for at one moment: fail, or change tags.
func (s *tagStore) interfere(moment string) error {
	raw, ok := s.interference[moment]
	if !ok {
		return nil
	}
	var word string
	if json.Unmarshal(raw, &word) == nil {
		switch word {
		case "recoverable":
			return errRecoverable
		case "gone":
			return errGone
		}
		return fmt.Errorf("unknown interference %q", word)
	}
	var change map[string]*string
	if err := json.Unmarshal(raw, &change); err != nil {
		return err
	}
	s.tags = s.tags.Clone()
	for key, value := range change {
		if value == nil {
			delete(s.tags, key)
		} else {
			s.tags[key] = *value
		}
	}
	return nil
}

// attach is what a caller of Claim does.
func (s *tagStore) attach(owner, holder string) (sandbox.Tags, error) {
	tags, err := s.read()
	if err != nil {
		return nil, err
	}
	claimed, write, err := Claim(tags, owner, holder)
	if err != nil || !write {
		return tags, err
	}
	if err := s.write(claimed); err != nil {
		return nil, err
	}
	again, err := s.read()
	if err != nil {
		return nil, err
	}
	if Holder(again) != holder {
		return nil, errLostClaim
	}
	return tags, nil
}

// release is what a caller of Release does.
func (s *tagStore) release(holder string) error {
	tags, err := s.read()
	if err != nil {
		return err
	}
	if !Release(tags, holder) {
		return nil
	}
	return s.write(tags)
}

func reasonOf(err error) string {
	switch {
	case errors.Is(err, ErrNotOwner):
		return "not_owned"
	case errors.Is(err, ErrHeld):
		return "held_by_other"
	}
	return err.Error()
}

func TestClaimAndReleaseLeaveTheirInputAlone(t *testing.T) {
	before := sandbox.Tags{TagOwner: "o", "team": "research"}
	claimed, write, err := Claim(before, "o", "h")
	if err != nil || !write {
		t.Fatalf("%t, %v", write, err)
	}
	if _, ok := before[TagHolder]; ok || Holder(claimed) != "h" {
		t.Error("Claim changed its input")
	}
	if !Release(claimed, "h") {
		t.Fatal("nothing to release")
	}
	if diff := cmp.Diff(before, claimed); diff != "" {
		t.Errorf("a claim and its release must cancel out\n%s", diff)
	}
}
