// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest

import (
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// foreign are tags of other programs: Airflow's values, and what else people
// put there.
var foreign = sandbox.Tags{
	"airflow_network":        `{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":true}`,
	"airflow_owner":          "etl/manual__2026-10-05T00:00:00+00:00",
	"airflow_holder":         "etl/manual__2026-10-05T00:00:00+00:00/load/task[3]",
	"airflow_workdir":        "/workspace",
	"tool::stage":            "ends in a dash-",
	"example.org/cost-point": "42",
	"Case":                   "upper",
	"case":                   "lower",
	"ключ":                   "søppel 箱 🗑",
	"spaces  inside ":        " \t padded\r\n\nlines ",
	"quotes":                 `"'` + "`" + `$(true)${HOME}\n%s{{.}}<&>`,
	"empty":                  "",
	"_":                      "_",
	"long":                   strings.Repeat("0123456789", 200),
	"control":                "\x01\x1b[0m\u2028",
	"equals=and,comma;semi":  "a=b&c=d;e,f",
	"composed":               "\u00e9", // and the same letter in two code points
	"decomposed":             "e\u0301",
}

func testTags(t *testing.T, p *place) {
	if p.caps.Tags == backend.NoTags {
		t.Skip("this backend has no tags")
	}
	req := p.request(p.spec(), foreign)
	made := p.createFrom(t, req)

	t.Run("tags given at birth are read back byte for byte", func(t *testing.T) {
		p.wantTags(t, made.Ref, req.Tags)
	})
	t.Run("no tags at birth are none", func(t *testing.T) {
		bare := p.request(p.spec(), nil)
		bare.Tags = sandbox.Tags{sandbox.TagAttempt: bare.Mark}
		p.wantTags(t, p.createFrom(t, bare).Ref, bare.Tags)
	})
	t.Run("what cannot be stored is refused and never altered", func(t *testing.T) { testStrangeTags(t, p) })
	if p.caps.Tags == backend.TagsAtBirth {
		t.Run("editing tags is not supported", func(t *testing.T) {
			err := backend.EditTags(t.Context(), p.Backend, made.Ref, func(tags sandbox.Tags) { tags["x"] = "y" })
			wantError(t, "EditTags", err, backend.ErrUnsupported)
		})
		return
	}
	t.Run("an edit leaves foreign keys byte for byte", func(t *testing.T) {
		want := p.get(t, made.Ref).Tags.Clone()
		p.edit(t, made.Ref, func(tags sandbox.Tags) { tags[sandbox.TagProtect] = "until the audit" })
		want[sandbox.TagProtect] = "until the audit"
		p.wantTags(t, made.Ref, want)

		p.edit(t, made.Ref, func(tags sandbox.Tags) { delete(tags, sandbox.TagProtect) })
		delete(want, sandbox.TagProtect)
		p.wantTags(t, made.Ref, want)
	})
	t.Run("setting tags replaces the whole set", func(t *testing.T) {
		want := sandbox.Tags{sandbox.TagAttempt: req.Mark, "only": "this"}
		if err := p.SetTags(t.Context(), made.Ref, want); err != nil {
			t.Fatalf("SetTags: %v", err)
		}
		p.wantTags(t, made.Ref, want)
	})
	t.Run("an edited sandbox is still found by its mark", func(t *testing.T) {
		if found := p.alive(t, req.Mark); len(found) != 1 || found[0].Ref != made.Ref {
			t.Errorf("Find(%s) = %+v, want only %s", req.Mark, found, made.Handle)
		}
	})
	t.Run("edits at once lose nothing", func(t *testing.T) {
		if _, ok := p.Backend.(backend.TagEditor); !ok {
			t.Skip("not a TagEditor: an edit can be lost here")
		}
		want := p.get(t, made.Ref).Tags.Clone()
		var all sync.WaitGroup
		for range workers {
			key := sandbox.NewMark()
			want[key] = "edited"
			all.Go(func() {
				if err := backend.EditTags(t.Context(), p.Backend, made.Ref, func(tags sandbox.Tags) { tags[key] = "edited" }); err != nil {
					t.Errorf("EditTags: %v", err)
				}
			})
		}
		all.Wait()
		p.wantTags(t, made.Ref, want)
	})
	t.Run("the listing shows the same tags or none", func(t *testing.T) {
		want := p.get(t, made.Ref).Tags
		if listed, ok := p.listed(t, made.Ref); ok && listed.TagsKnown {
			if diff := cmp.Diff(want, listed.Tags); diff != "" {
				t.Errorf("tags (-get +list):\n%s", diff)
			}
		}
	})
}

// testStrangeTags writes what a vendor may well be unable to store.
func testStrangeTags(t *testing.T, p *place) {
	for name, tags := range map[string]sandbox.Tags{
		"a value that is not UTF-8": {"key": "a\xffb"},
		"a key that is not UTF-8":   {"a\xffb": "value"},
		"an empty key":              {"": "value"},
		"a NUL byte":                {"key": "a\x00b"},
		"10,000 characters":         {"airflow_owner": strings.Repeat("x", 10_000)},
	} {
		t.Run(name, func(t *testing.T) {
			req := p.request(p.spec(), tags)
			made, err := backend.Create(t.Context(), p.Backend, req)
			if err != nil {
				wantError(t, "Create", err, backend.ErrInvalid)
				p.wantNothing(t, req.Mark)
				return
			}
			t.Cleanup(func() { p.gone(t, made.Ref) })
			p.wantTags(t, made.Ref, req.Tags)
		})
	}
}

// edit is backend.EditTags where it must work.
func (p *place) edit(t *testing.T, ref sandbox.Ref, change func(sandbox.Tags)) {
	t.Helper()
	if err := backend.EditTags(t.Context(), p.Backend, ref, change); err != nil {
		t.Fatalf("EditTags: %v", err)
	}
}

func (p *place) wantTags(t *testing.T, ref sandbox.Ref, want sandbox.Tags) {
	t.Helper()
	got := p.get(t, ref)
	if !got.TagsKnown {
		t.Fatalf("Get(%s) carries no tags", ref.Handle)
	}
	if diff := cmp.Diff(want, got.Tags); diff != "" {
		t.Errorf("tags of %s (-want +got):\n%s", ref.Handle, strings.ToValidUTF8(diff, string(utf8.RuneError)))
	}
}
