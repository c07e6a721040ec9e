// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func remember(facts Facts) Marks { return Remember(facts, Decide(facts, enforced())) }

func TestOnlySuspectsAreMarked(t *testing.T) {
	dead, alive := running(expiredAt(noon.Add(-time.Hour))), running(func(b *sandbox.Sandbox) { b.Handle = "alive" })
	unread := running(func(b *sandbox.Sandbox) { b.Handle = "unread"; b.Problem = "torn" })
	got := remember(looked(dead, alive, unread))
	want := Marks{dead.Key(): {Reason: "expired", First: noon, Looks: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAMarkIsKeptClearedOrLeftAsTheLookAllows(t *testing.T) {
	dead := expiredAt(noon.Add(-time.Hour))
	old := Mark{Reason: "expired", First: noon.Add(-time.Hour), Looks: 3}
	asked := old
	asked.Asked, asked.Attempts, asked.Next = noon.Add(-time.Minute), 1, noon.Add(time.Minute)
	with := func(m Mark, change func(*Mark)) *Mark { change(&m); return &m }
	cases := []struct {
		name     string
		change   func(*sandbox.Sandbox) // nil: not listed
		complete bool
		mark     Mark
		want     *Mark // nil: forgotten
	}{
		{"still dead, complete", dead, true, old, with(old, func(m *Mark) { m.Looks = 4 })},
		{"still dead, not complete", dead, false, old, &old},
		{"alive, complete", func(*sandbox.Sandbox) {}, true, old, nil},
		{"alive, not complete: it starts over", func(*sandbox.Sandbox) {}, false, old, with(old, func(m *Mark) { m.First, m.Looks = time.Time{}, 0 })},
		{"not listed, complete", nil, true, old, nil},
		{"not listed, not complete", nil, false, old, &old},
		{"not listed, but asked to go: a read by id decides", nil, true, asked, &asked},
		{"ended, and asked to go: a read by id decides", func(b *sandbox.Sandbox) { b.State = sandbox.Ended }, true, asked, &asked},
		{"ended, never asked", func(b *sandbox.Sandbox) { b.State = sandbox.Ended }, true, old, nil},
		{"unreadable now", func(b *sandbox.Sandbox) { b.Problem = "torn" }, true, asked, &asked},
		{"alive after it was asked to go", func(*sandbox.Sandbox) {}, true, asked, nil},
		{"dead for another reason: it starts over, and the wait stays", func(b *sandbox.Sandbox) {
			b.State, b.StateSince = sandbox.Failed, noon.Add(-time.Hour)
		}, true, asked, with(asked, func(m *Mark) { m.Reason, m.First, m.Looks = "failed_teardown", noon, 1 })},
		{"in doubt for another reason: the old one was seen not to hold", func(b *sandbox.Sandbox) {
			b.Tags[sandbox.TagTeardownAt] = "soon"
		}, true, asked, with(asked, func(m *Mark) { m.First, m.Looks = time.Time{}, 0 })},
		{"dead again after it was seen not to be", dead, true, old.StartOver(), with(old, func(m *Mark) { m.First, m.Looks = noon, 1 })},
		{"marked by a clock that was ahead", dead, true,
			Mark{Reason: "expired", First: noon.Add(900 * time.Hour), Looks: 3, Attempts: 1, Next: noon.Add(900 * time.Hour)},
			&Mark{Reason: "expired", First: noon, Looks: 1, Attempts: 1, Next: noon.Add(maxBackOff)}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			key := running(func(*sandbox.Sandbox) {}).Key()
			facts := looked()
			if c.change != nil {
				facts = looked(running(c.change))
			}
			facts.Complete, facts.Listed, facts.LastCount, facts.Marks = c.complete, 1, 1, Marks{key: c.mark}
			want := Marks{}
			if c.want != nil {
				want[key] = *c.want
			}
			if diff := cmp.Diff(want, remember(facts)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsGoneIsRememberedForADayAndForgottenByTwoLooks(t *testing.T) {
	key := running(func(*sandbox.Sandbox) {}).Key()
	facts := looked()
	facts.Marks = Marks{key: {Reason: "expired", Gone: noon}}
	look := func(after time.Duration) int {
		facts.Now = noon.Add(after)
		facts.Marks = remember(facts)
		return len(facts.Marks)
	}
	for _, step := range []struct {
		after time.Duration
		kept  int
	}{
		{time.Hour, 1},
		{1000 * time.Hour, 1}, // a clock that is wrong for one look
		{2 * time.Hour, 1},
		{24 * time.Hour, 1},
		{25 * time.Hour, 0},
	} {
		if kept := look(step.after); kept != step.kept {
			t.Errorf("after %s %d are remembered", step.after, kept)
		}
	}
}

func TestBackOffDoublesUpToSixHours(t *testing.T) {
	for attempts, want := range []time.Duration{
		1: 10 * time.Minute, 2: 20 * time.Minute, 3: 40 * time.Minute, 4: 80 * time.Minute, 5: 160 * time.Minute, 9: maxBackOff,
	} {
		if got := BackOff(attempts); want > 0 && got != want {
			t.Errorf("after %d attempts %s, want %s", attempts, got, want)
		}
	}
}

func TestMarksAreTheSameBytesAndComeBack(t *testing.T) {
	marks := Marks{
		{Ref: sandbox.Ref{Handle: "b"}}:                                       {Reason: "expired", First: noon, Looks: 1},
		{Ref: sandbox.Ref{Handle: "b"}, Leftover: true}:                       {Reason: "orphaned_workspace", First: noon},
		{Ref: sandbox.Ref{Handle: "a", Incarnation: "2"}}:                     {Reason: "expired", First: noon, Asked: noon, Next: noon, Attempts: 2, LastError: "x"},
		{Ref: sandbox.Ref{Handle: "a", Incarnation: "1"}}:                     {Reason: "expired", First: noon, Gone: noon},
		{Ref: sandbox.Ref{Handle: "a\n\"", Incarnation: "1"}, Leftover: true}: {},
	}
	first, err := json.Marshal(marks)
	if err != nil {
		t.Fatal(err)
	}
	var back Marks
	if err := json.Unmarshal(first, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(marks, back); diff != "" {
		t.Error(diff)
	}
	if again, _ := json.Marshal(back); string(again) != string(first) {
		t.Error("the bytes differ")
	}
	if err := json.Unmarshal([]byte(`[{"handle":"a"},{"handle":"a"}]`), &back); err == nil {
		t.Error("one key twice was accepted")
	}
	if err := json.Unmarshal([]byte(`{}`), &back); err == nil {
		t.Error("an object was accepted")
	}
}
