// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backend_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

var edited = sandbox.Ref{Handle: "sb-1"}

// tagged is a backend that holds the tags of one sandbox; meddle, if set, is
// another program that acts right after each write.
func tagged(tags sandbox.Tags, meddle func(sandbox.Tags)) (*scripted, *sandbox.Tags) {
	stored := tags.Clone()
	return &scripted{
		get: func(sandbox.Ref) (sandbox.Sandbox, error) {
			return sandbox.Sandbox{Ref: edited, Tags: stored.Clone(), TagsKnown: true}, nil
		},
		setTags: func(tags sandbox.Tags) error {
			stored = tags.Clone()
			if meddle != nil {
				meddle(stored)
			}
			return nil
		},
	}, &stored
}

func protect(tags sandbox.Tags) { tags[sandbox.TagProtect] = "yes" }

func TestForeignTagsSurviveAnEditByteForByte(t *testing.T) {
	foreign := sandbox.Tags{"airflow_holder": "a/b/c[0]", "": "\xff", "case": "1", "Case": "2", "empty": ""}
	b, stored := tagged(foreign, nil)
	if err := backend.EditTags(t.Context(), b, edited, protect); err != nil {
		t.Fatalf("EditTags: %v", err)
	}
	want := foreign.Clone()
	protect(want)
	if diff := cmp.Diff(want, *stored); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}

func TestAnEditThatChangesNothingIsNotWritten(t *testing.T) {
	b, _ := tagged(sandbox.Tags{sandbox.TagProtect: "yes"}, nil)
	if err := backend.EditTags(t.Context(), b, edited, protect); err != nil {
		t.Fatalf("EditTags: %v", err)
	}
	if writes := b.count("set tags"); writes != 0 {
		t.Errorf("%d writes, want none", writes)
	}
}

func TestAnEditUndoneByAnotherProgramIsMadeAgain(t *testing.T) {
	undone := 0
	b, stored := tagged(sandbox.Tags{"old": "x"}, func(tags sandbox.Tags) {
		if undone++; undone < 3 {
			delete(tags, sandbox.TagProtect)
			tags["airflow_holder"] = "run"
		}
	})
	err := backend.EditTags(t.Context(), b, edited, func(tags sandbox.Tags) {
		protect(tags)
		delete(tags, "old")
	})
	if err != nil {
		t.Fatalf("EditTags: %v", err)
	}
	want := sandbox.Tags{sandbox.TagProtect: "yes", "airflow_holder": "run"}
	if diff := cmp.Diff(want, *stored); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}

func TestAnEditThatNeverHoldsIsAConflictThatNamesTheKeys(t *testing.T) {
	b, _ := tagged(sandbox.Tags{"mine": "old", "fine": "old"}, func(tags sandbox.Tags) {
		delete(tags, sandbox.TagProtect)
		tags["mine"] = "old"
	})
	err := backend.EditTags(t.Context(), b, edited, func(tags sandbox.Tags) {
		protect(tags)
		tags["mine"], tags["fine"] = "new", "new"
	})
	if !errors.Is(err, backend.ErrConflict) || !strings.Contains(err.Error(), "mine, taskowned_protect did not") || strings.Contains(err.Error(), "fine") {
		t.Errorf("EditTags = %v, want a conflict over the two lost keys", err)
	}
	if writes := b.count("set tags"); writes > 10 {
		t.Errorf("%d writes", writes)
	}
}

func TestAnEditDecidesByTheFreshTags(t *testing.T) {
	b, stored := tagged(sandbox.Tags{}, func(tags sandbox.Tags) { tags["airflow_holder"] = "the task" })
	held := ""
	err := backend.EditTags(t.Context(), b, edited, func(tags sandbox.Tags) {
		if held = tags["airflow_holder"]; held == "" {
			tags["airflow_holder"] = "terraform"
		}
	})
	if err != nil || held != "the task" || (*stored)["airflow_holder"] != "the task" {
		t.Errorf("EditTags = %v, saw %q, left %q; want the task's claim to stand", err, held, *stored)
	}
}

func TestUnknownTagsAreNeverTakenForNone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := &scripted{get: func(sandbox.Ref) (sandbox.Sandbox, error) { return sandbox.Sandbox{Ref: edited}, nil }}
		if err := backend.EditTags(t.Context(), b, edited, protect); !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("EditTags = %v, want unavailable", err)
		}
		if reads := b.count("get"); reads < 2 {
			t.Errorf("%d reads, want another try", reads)
		}
	})
}

func TestTagsOfAnUnreadableRecordAreNotEdited(t *testing.T) {
	b := &scripted{get: func(sandbox.Ref) (sandbox.Sandbox, error) {
		return sandbox.Sandbox{Ref: edited, Problem: "meta.json: unexpected end"}, nil
	}}
	err := backend.EditTags(t.Context(), b, edited, protect)
	if !errors.Is(err, backend.ErrInvalid) || !strings.Contains(err.Error(), "unexpected end") {
		t.Errorf("EditTags = %v, want the problem", err)
	}
}

func TestAnEditWhoseReplyIsLostIsReadBack(t *testing.T) {
	for name, effect := range map[string]bool{"it took effect": true, "it did not": false} {
		t.Run(name, func(t *testing.T) {
			b, stored := tagged(sandbox.Tags{}, nil)
			set, lost := b.setTags, false
			b.setTags = func(tags sandbox.Tags) error {
				if lost {
					return set(tags)
				}
				if lost = true; effect {
					_ = set(tags)
				}
				return backend.ErrUnknownOutcome
			}
			if err := backend.EditTags(t.Context(), b, edited, protect); err != nil || (*stored)[sandbox.TagProtect] != "yes" {
				t.Errorf("EditTags = %v, left %q", err, *stored)
			}
		})
	}
}

func TestErrorsOfAnEditNameTheSandbox(t *testing.T) {
	b, _ := tagged(nil, nil)
	b.setTags = func(sandbox.Tags) error { return backend.ErrUnsupported }
	err := backend.EditTags(t.Context(), b, edited, protect)
	if !errors.Is(err, backend.ErrUnsupported) || !strings.Contains(err.Error(), `edit the tags of sandbox sb-1 on "scripted"`) {
		t.Errorf("EditTags = %v", err)
	}
}

// atomic is a backend that edits in one step.
type atomic struct{ *scripted }

func (a atomic) EditTags(_ context.Context, _ sandbox.Ref, edit func(sandbox.Tags)) error {
	a.note("edit")
	edit(sandbox.Tags{})
	return nil
}

func TestABackendThatEditsInOneStepIsLetDoSo(t *testing.T) {
	b := atomic{new(scripted)}
	if err := backend.EditTags(t.Context(), b, edited, protect); err != nil || b.count("edit") != 1 {
		t.Errorf("EditTags = %v after %d edits, want one", err, b.count("edit"))
	}
}
