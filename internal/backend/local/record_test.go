// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// broken are the ways in which a sandbox's entry can be wrong. dir is that of a
// whole sandbox.
var brokenEntries = map[string]func(t *testing.T, dir string){
	"empty":  spoilRecord(""),
	"torn":   spoilRecord(`{"schema": 1, "handle": "taskow`),
	"binary": spoilRecord("\x00\xff\x01"),
	"a tag that is not UTF-8": func(t *testing.T, dir string) {
		editRecord(func(rec map[string]any) { rec["tags"] = map[string]string{"team": "TEAM"} })(t, dir)
		path := filepath.Join(dir, recordFile)
		data, err := os.ReadFile(path)
		must(t, err)
		must(t, os.WriteFile(path, bytes.Replace(data, []byte("TEAM"), []byte("\xff\xfe"), 1), 0o600))
	},
	"null":                             spoilRecord("null"),
	"a list":                           spoilRecord("[]"),
	"no record":                        spoilRecord("{}"),
	"two documents":                    spoilRecord("{}{}"),
	"a newer version":                  editRecord(func(rec map[string]any) { rec["schema"] = 2 }),
	"a newer version with other types": spoilRecord(`{"schema": 2, "handle": {}, "tags": []}`),
	"an unknown status":                editRecord(func(rec map[string]any) { rec["status"] = "frozen" }),
	"an end past the last year in UTC": editRecord(func(rec map[string]any) { rec["expires_at"] = "9999-12-31T23:59:59-23:59" }),
	"no end":                           editRecord(func(rec map[string]any) { delete(rec, "expires_at") }),
	"another's":                        editRecord(func(rec map[string]any) { rec["handle"] = "taskowned-other" }),
	"wrong type":                       editRecord(func(rec map[string]any) { rec["tags"] = 7 }),
	"too large":                        spoilRecord(strings.Repeat(" ", maxFile+1)),
	"missing":                          func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, recordFile))) },
	"a link": func(t *testing.T, dir string) {
		must(t, os.Rename(filepath.Join(dir, recordFile), filepath.Join(dir, "moved")))
		must(t, os.Symlink("moved", filepath.Join(dir, recordFile)))
	},
	"a pipe": func(t *testing.T, dir string) {
		must(t, os.Remove(filepath.Join(dir, recordFile)))
		must(t, syscall.Mkfifo(filepath.Join(dir, recordFile), 0o600))
	},
	"a directory": func(t *testing.T, dir string) {
		must(t, os.Remove(filepath.Join(dir, recordFile)))
		must(t, os.Mkdir(filepath.Join(dir, recordFile), 0o700))
	},
	"in a linked directory": func(t *testing.T, dir string) {
		must(t, os.Rename(dir, dir+"-moved"))
		must(t, os.Symlink(filepath.Base(dir)+"-moved", dir))
	},
	"in a file": func(t *testing.T, dir string) {
		must(t, os.RemoveAll(dir))
		must(t, os.WriteFile(dir, nil, 0o600))
	},
	"of another user": func(t *testing.T, dir string) {
		if os.Geteuid() != 0 {
			t.Skip("only root can give a file away")
		}
		must(t, os.Chown(filepath.Join(dir, recordFile), 12345, 12345))
	},
}

func spoilRecord(content string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		must(t, os.WriteFile(filepath.Join(dir, recordFile), []byte(content), 0o600))
	}
}

func editRecord(edit func(map[string]any)) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		path := filepath.Join(dir, recordFile)
		data, err := os.ReadFile(path)
		must(t, err)
		var rec map[string]any
		must(t, json.Unmarshal(data, &rec))
		edit(rec)
		data, err = json.Marshal(rec)
		must(t, err)
		must(t, os.WriteFile(path, data, 0o600))
	}
}

func TestBrokenRecordIsReportedAndNeverHidesBlocksOrDies(t *testing.T) {
	for name, spoil := range brokenEntries {
		t.Run(name, func(t *testing.T) {
			h, _ := testHost(t, place(t))
			before, bad, after := create(t, h, nil), create(t, h, nil), create(t, h, nil)
			dir := filepath.Join(h.dir, sandboxesDir, bad.Handle)
			spoil(t, dir)
			content := snapshot(t, h.dir)

			listed := map[string]sandbox.Sandbox{}
			for _, s := range list(t, h) {
				listed[s.Handle] = s
			}
			for _, whole := range []sandbox.Sandbox{before, after} {
				if diff := cmp.Diff(whole, listed[whole.Handle]); diff != "" {
					t.Errorf("a whole sandbox (-made +listed):\n%s", diff)
				}
			}
			got, err := h.Get(t.Context(), bad.Ref)
			if err != nil || got.Problem == "" || got.TagsKnown || got.State != sandbox.Unknown {
				t.Errorf("Get = %+v, %v; want a problem and nothing else", got, err)
			}
			if diff := cmp.Diff(got, listed[bad.Handle]); diff != "" || !strings.Contains(got.Problem, dir) {
				t.Errorf("listed differently, or without its path (-get +list):\n%s", diff)
			}

			for what, use := range everyUse(h, bad.Ref) {
				switch what {
				case "Check", "List", "Leftovers", "Get", "Find", "HasImage":
				default:
					if err := use(t.Context()); err == nil || !strings.Contains(err.Error(), "by hand") {
						t.Errorf("%s = %v; want an error that says what to do by hand", what, err)
					}
				}
			}
			if diff := cmp.Diff(content, snapshot(t, h.dir)); diff != "" {
				t.Errorf("something was changed (-before +after):\n%s", diff)
			}
			must(t, h.Destroy(t.Context(), before.Ref))
			create(t, h, nil)
		})
	}
}

// snapshot is what a tree looks like, locks and counters aside.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(filepath.Join(dir, sandboxesDir), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		content := d.Type().String()
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(data)
		}
		all[path] = content
		return nil
	}))
	return all
}

func TestTimesOfAWrongClockAreReportedAsTheyAreAndTheSandboxCanStillBeDestroyed(t *testing.T) {
	for name, moment := range map[string]string{
		"in ten years":           "2040-01-02T03:04:05Z",
		"in the last year":       "9999-12-31T23:59:59Z",
		"longer than a Duration": "2400-02-29T00:00:00.123456789+14:00",
	} {
		t.Run(name, func(t *testing.T) {
			h := realHost(t)
			made := create(t, h, nil)
			editRecord(func(rec map[string]any) {
				rec["created_at"], rec["status_since"], rec["expires_at"] = moment, moment, moment
			})(t, filepath.Join(h.dir, sandboxesDir, made.Handle))
			want, err := time.Parse(time.RFC3339, moment)
			must(t, err)

			got, err := h.Get(t.Context(), made.Ref)
			if err != nil || got.Problem != "" || !got.CreatedAt.Equal(want) || !got.ServerEnds.Equal(want) {
				t.Errorf("Get = %+v, %v; want the times of the record", got, err)
			}
			if all := list(t, h); len(all) != 1 || !all[0].ServerEnds.Equal(want) {
				t.Errorf("List = %+v", all)
			}
			const timeout = 300 * time.Millisecond
			result, err := h.Exec(t.Context(), made.Ref, backend.Command{Argv: []string{"sleep", "300"}, Timeout: timeout})
			if err != nil || !result.TimedOut || result.Terminated || result.AppliedTimeout != timeout {
				t.Errorf("a command ended as %+v, %v; want its own timeout", result, err)
			}
			if end, err := h.Renew(t.Context(), made.Ref, h.clock.Now().Add(2*time.Hour)); err != nil || !end.Equal(want) {
				t.Errorf("Renew = %s, %v; want %s, which it never shortens", end, err, want)
			}
			must(t, h.SetTags(t.Context(), made.Ref, sandbox.Tags{"still": "writable"}))
			must(t, h.Destroy(t.Context(), made.Ref))
		})
	}
}

func TestRecordsAreWrittenOnlyIfTheyCanBeRead(t *testing.T) {
	h, _ := testHost(t, place(t))
	made := create(t, h, sandbox.Tags{"kept": "yes"})
	for name, tags := range map[string]sandbox.Tags{
		"a value that is not UTF-8": {"key": "\xff"},
		"a key that is not UTF-8":   {"\xff": "value"},
		"more than can be read":     {"key": strings.Repeat("x", maxFile)},
	} {
		err := h.SetTags(t.Context(), made.Ref, tags)
		wantError(t, err, backend.ErrInvalid, "")
		if got, err := h.Get(t.Context(), made.Ref); err != nil || got.Tags["kept"] != "yes" {
			t.Errorf("%s: afterwards %+v, %v", name, got, err)
		}
	}
	long := sandbox.Tags{"airflow_owner": strings.Repeat("x", 10_000) + "\n\x00"}
	must(t, h.SetTags(t.Context(), made.Ref, long))
	if got, err := h.Get(t.Context(), made.Ref); err != nil || cmp.Diff(long, got.Tags) != "" {
		t.Errorf("a long owner with line ends: %v, %v", got.Tags, err)
	}
}

func TestReusedHandleIsAnotherIncarnation(t *testing.T) {
	h, _ := testHost(t, place(t))
	req := request(h, nil)
	first := createFrom(t, h, req)
	must(t, h.Destroy(t.Context(), first.Ref))
	second := createFrom(t, h, req)
	if first.Handle != second.Handle || first.Incarnation == second.Incarnation {
		t.Fatalf("made %v, then %v", first.Ref, second.Ref)
	}
	_, err := h.Get(t.Context(), first.Ref)
	wantError(t, err, backend.ErrNotFound, "")
	wantError(t, h.Destroy(t.Context(), first.Ref), backend.ErrConflict, first.Incarnation)
	if all := list(t, h); len(all) != 1 {
		t.Errorf("List = %v, want the second", all)
	}
	_, err = h.Create(t.Context(), req)
	wantError(t, err, backend.ErrConflict, "of that name")
}
