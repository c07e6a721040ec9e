// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

func TestSweepReclaimsExactlyWhatIsDeadAndSaysWhy(t *testing.T) {
	kept := dead("kept")
	kept.Tags[sandbox.TagProtect] = "yes"
	foreign := dead("foreign")
	foreign.Tags = nil
	torn := alive("torn")
	torn.Tags[sandbox.TagTeardownAt] = airflow.FormatExpiry(noon.Add(-2 * time.Hour))
	soon := ending("soon", noon.Add(-time.Minute))
	l := newLab(dead("dead"), alive("alive"), kept, foreign, torn, soon)
	result := sweep(t, enforcing(l))

	expect(t, "left", l.handles(), []string{"alive", "foreign", "kept", "soon"})
	expect(t, "said", said(result), []string{"torn reclaimed", "dead reclaimed"})
	if got, want := result.Connections[0].Counts, (Counts{Listed: 6, Alive: 1, Protected: 1, Foreign: 1, Reclaim: 2, Later: 1}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	for _, v := range result.Connections[0].Verdicts {
		if len(v.Evidence) == 0 || v.Since.IsZero() || v.Ripe.IsZero() {
			t.Errorf("%s says too little: %+v", v.Handle, v)
		}
	}
	if result.Exit != ExitClean || !result.Acted || !result.Connections[0].Look.Complete {
		t.Errorf("exit %d, look %+v", result.Exit, result.Connections[0].Look)
	}
	if oldest := result.Connections[0].OldestLeak; !oldest.IsZero() {
		t.Errorf("a leak since %s", oldest)
	}
}

func TestEveryAttemptIsTracedToItsVerdict(t *testing.T) {
	c := sweep(t, enforcing(newLab(dead("a"), dead("b")))).Connections[0]
	for _, a := range c.Actions {
		if v := c.Judged(a); v == nil || v.Handle != a.Handle || v.Reason != "expired" {
			t.Errorf("%s was judged %+v", a.Handle, v)
		}
	}
	if v := c.Judged(Action{}); v != nil {
		t.Errorf("nothing was judged %+v", v)
	}
}

func TestOnlyWhatWasApprovedIsAttempted(t *testing.T) {
	l := newLab(dead("shown"), dead("later"))
	opts := enforcing(l)
	opts.Approved = func(connection string, v verdict.Verdict) bool { return connection == "a" && v.Handle == "shown" }
	result := sweep(t, opts)
	expect(t, "said", said(result), []string{"later postponed", "shown reclaimed"})
	expect(t, "asked", l.asked, []string{"shown"})
}

func TestPlanChangesNothing(t *testing.T) {
	l := newLab(dead("dead"))
	l.leave("trash")
	opts := enforcing(l)
	opts.Store = refusing{}
	result, err := Plan(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	c := result.Connections[0]
	if c.Counts.Reclaim != 1 || c.Counts.Later != 1 || result.Acted || len(l.asked) > 0 {
		t.Errorf("counted %+v, acted %t, asked %q", c.Counts, result.Acted, l.asked)
	}
	if want := noon.Add(-time.Hour); !c.OldestLeak.Equal(want) {
		t.Errorf("oldest leak %s, want %s", c.OldestLeak, want)
	}
}

// refusing is a store that somebody holds and that must not be written.
type refusing struct{}

func (refusing) Newest(context.Context) (Version, error) { return "", nil }

func (refusing) Load(context.Context) (Document, Version, error) {
	return Document{Run: Run{ID: "x", Until: noon.Add(time.Minute)}}, "1", nil
}

func (refusing) Save(context.Context, Document, Version) (Version, error) {
	panic("a plan saved something")
}

func TestReportModeTouchesNothing(t *testing.T) {
	l := newLab(dead("dead"))
	opts := enforcing(l)
	opts.Connections[0].Policy.Mode = verdict.Report
	result := sweep(t, opts)
	if counts := result.Connections[0].Counts; len(l.asked) > 0 || counts.Report != 1 || counts.Reclaim != 0 || result.Exit != ExitClean {
		t.Errorf("asked %q, counted %+v, exit %d", l.asked, counts, result.Exit)
	}
}

func TestSandboxRenewedBetweenListingAndReadIsSpared(t *testing.T) {
	l := newLab(dead("renewed"), dead("protected"), dead("dead"))
	l.onGet = func(_ context.Context, ref sandbox.Ref) error {
		b := l.boxes[ref]
		switch ref.Handle {
		case "renewed":
			b.Tags = alive("").Tags
		case "protected":
			b.Tags[sandbox.TagProtect] = "yes"
		}
		if b.Handle != "" {
			l.boxes[ref] = b
		}
		return nil
	}
	result := sweep(t, enforcing(l))
	expect(t, "left", l.handles(), []string{"protected", "renewed"})
	expect(t, "said", said(result), []string{"dead reclaimed", "protected spared", "renewed spared"})
	if a := result.Connections[0].Actions[1]; !strings.Contains(a.Detail, "taskowned_protect") {
		t.Errorf("it does not say why: %q", a.Detail)
	}
}

func TestOrphanedWorkspaceGoesAtTheSecondLookAfterItsGrace(t *testing.T) {
	l := newLab(alive("alive"))
	l.leave("trash")
	opts := enforcing(l)
	expect(t, "first", said(sweep(t, opts)), nil)
	opts.advance(23 * time.Hour)
	expect(t, "within the grace", said(sweep(t, opts)), nil)
	opts.advance(2 * time.Hour)
	expect(t, "after it", said(sweep(t, opts)), []string{"trash reclaimed"})
}

func TestLeftoverTakenSinceTheListingIsSpared(t *testing.T) {
	l := newLab(alive("alive"))
	l.leave("work")
	opts := enforcing(l)
	sweep(t, opts)
	opts.advance(25 * time.Hour)
	lists := 0
	l.onList = func(context.Context) error {
		if lists++; lists == 2 {
			taken := alive("new")
			taken.Workspaces = []string{"/lab/work/deep"}
			l.boxes[taken.Ref] = taken
		}
		return nil
	}
	expect(t, "said", said(sweep(t, opts)), []string{"work spared"})
}

func TestSlowDestroyIsConfirmedByTheNextRunAndSaidOnce(t *testing.T) {
	l := newLab(dead("slow"), alive("alive"))
	slow := l.boxes[dead("slow").Ref]
	l.onDestroy = func(context.Context, sandbox.Ref) error {
		delete(l.boxes, slow.Ref)
		slow.State, slow.StateSince = sandbox.Stopping, noon
		l.onGet = func(context.Context, sandbox.Ref) error { l.boxes[slow.Ref] = slow; return nil }
		return nil
	}
	opts := enforcing(l)
	result := sweep(t, opts)
	expect(t, "first", said(result), []string{"slow asked"})
	if result.Exit != ExitClean || !result.Connections[0].OldestLeak.Equal(noon.Add(-time.Hour)) {
		t.Errorf("exit %d, leak %s", result.Exit, result.Connections[0].OldestLeak)
	}
	opts.advance(time.Minute)
	expect(t, "while it is stopping", said(sweep(t, opts)), nil)
	l.onGet = nil
	delete(l.boxes, slow.Ref)
	expect(t, "once it is gone", said(sweep(t, opts)), []string{"slow reclaimed"})
	expect(t, "afterwards", said(sweep(t, opts)), nil)
}

var errStays = errors.New("permission denied")

func TestUnknownOutcomeIsSettledByReading(t *testing.T) {
	l := newLab(dead("lost"))
	l.onDestroy = func(_ context.Context, ref sandbox.Ref) error {
		delete(l.boxes, ref)
		return backend.ErrUnknownOutcome
	}
	expect(t, "said", said(sweep(t, enforcing(l))), []string{"lost reclaimed"})
}

func TestPanicOfOneItemEndsOnlyThatItem(t *testing.T) {
	l := newLab(dead("bad"), dead("good"))
	l.onDestroy = func(_ context.Context, ref sandbox.Ref) error {
		if ref.Handle == "bad" {
			panic("nil map")
		}
		return nil
	}
	result := sweep(t, enforcing(l))
	expect(t, "said", said(result), []string{"bad failed", "good reclaimed"})
	if result.Exit != ExitPartial {
		t.Errorf("exit %d", result.Exit)
	}
}

func TestConnectionThatCannotBeReadStopsNoOther(t *testing.T) {
	broken, panics, good := newLab(dead("x")), newLab(dead("y")), newLab(dead("z"))
	broken.onList = func(context.Context) error { return backend.ErrUnauthorized }
	panics.onList = func(context.Context) error { panic("nil map") }
	opts := enforcing(broken, panics, good)
	opts.Connections = append(opts.Connections, Connection{Name: "shut", OpenError: errors.New("no such directory")})
	result := sweep(t, opts)
	expect(t, "said", said(result), []string{"z reclaimed"})
	if result.Exit != ExitPartial {
		t.Errorf("exit %d", result.Exit)
	}
	for i, want := range []string{"not authorized", "nil map", "", "no such directory"} {
		if got := result.Connections[i].Look; !strings.Contains(got.Error, want) || got.Complete != (want == "") {
			t.Errorf("look %d: %+v", i, got)
		}
	}
	opts.Connections = opts.Connections[:1]
	if result := sweep(t, opts); result.Exit != ExitUnreadable {
		t.Errorf("with nothing readable: exit %d", result.Exit)
	}
}

func TestFailedLookKeepsTheLastCompleteOne(t *testing.T) {
	l := newLab(alive("alive"))
	opts := enforcing(l)
	sweep(t, opts)
	opts.advance(3 * time.Hour)
	l.onList = func(context.Context) error { return backend.ErrUnavailable }
	if look := sweep(t, opts).Connections[0].Look; !look.LastComplete.Equal(noon) || !look.Nothing {
		t.Errorf("look %+v", look)
	}
}

func TestSamePlaceTwiceIsLookedAtOnce(t *testing.T) {
	one, two := newLab(dead("x")), newLab(dead("x"))
	opts := enforcing(one, two)
	two.scope = one.scope
	result := sweep(t, opts)
	if look := result.Connections[1].Look; !strings.Contains(look.Error, `same place as the connection "a"`) || len(two.asked) > 0 {
		t.Errorf("look %+v, asked %q", look, two.asked)
	}
}

func TestHangingConnectionIsLeftAtItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs, good := newLab(), newLab(dead("z"))
		hangs.onList = func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
		result := sweep(t, enforcing(hangs, good))
		expect(t, "said", said(result), []string{"z reclaimed"})
		if result.Connections[0].Look.Complete {
			t.Error("a look that hung is complete")
		}
	})
}

func TestWhatIsOverTheCapIsCountedAndNoAction(t *testing.T) {
	l := newLab(dead("a"), dead("b"), dead("c"))
	opts := enforcing(l)
	opts.DeletesPerRun = 1
	for i, want := range []string{"a reclaimed", "b reclaimed", "c reclaimed"} {
		result := sweep(t, opts)
		expect(t, "said", said(result), []string{want})
		if over := result.Connections[0].OverCap; over != 2-i {
			t.Errorf("%d over the cap in run %d", over, i+1)
		}
		if result.Exit != ExitClean {
			t.Errorf("the cap is no failure: exit %d", result.Exit)
		}
	}
}

func TestCapIsSharedInTurnByPlacesAndReasons(t *testing.T) {
	many, few := newLab(), newLab()
	for i := range 30 {
		b := ending(string(rune('A'+i)), noon.Add(-time.Duration(100-i)*time.Minute))
		b.CreatedAt = noon.Add(-200 * time.Hour)
		many.boxes[b.Ref] = b
	}
	torn := alive("torn")
	torn.Tags[sandbox.TagTeardownAt] = airflow.FormatExpiry(noon.Add(-20 * time.Minute))
	many.boxes[torn.Ref] = torn
	last := ending("last", noon.Add(-6*time.Minute))
	few.boxes[last.Ref] = last
	opts := enforcing(many, few)
	opts.DeletesPerRun = 4
	sweep(t, opts)
	expect(t, "of the many", many.asked, []string{"A", "torn", "B"})
	expect(t, "of the few", few.asked, []string{"last"})
}

func TestTokenOfAPlanPassesTheShareBreakerOnce(t *testing.T) {
	l := newLab(alive("alive"))
	l.leave("a", "b", "c", "d", "e", "f", "g", "h")
	opts := enforcing(l)
	sweep(t, opts)
	opts.advance(25 * time.Hour)
	refused := sweep(t, opts)
	c := refused.Connections[0]
	if refused.Exit != ExitRefused || len(c.Refused) != 1 || c.Token == "" || len(l.asked) > 0 {
		t.Fatalf("exit %d, refused %q, token %q, asked %q", refused.Exit, c.Refused, c.Token, l.asked)
	}
	opts.Connections[0].Policy.Accept = c.Token
	if passed := sweep(t, opts); passed.Exit != ExitClean || len(l.left) != 0 {
		t.Errorf("exit %d, left %d", passed.Exit, len(l.left))
	}
}

func TestExplainReadsAfresh(t *testing.T) {
	l := newLab(dead("dead"))
	l.leave("trash")
	opts := enforcing(l)
	for handle, want := range map[string]verdict.Outcome{"dead": verdict.Condemned, "trash": verdict.Suspected} {
		e, err := Explain(t.Context(), opts, "a", handle)
		if err != nil || e.Outcome != want || len(e.Checks) != len(verdict.Rules()) || e.Scope != "lab:1" {
			t.Errorf("%s: %+v, %v", handle, e, err)
		}
	}
	if _, err := Explain(t.Context(), opts, "a", "nothing"); !errors.Is(err, ErrNoSuchThing) {
		t.Errorf("nothing: %v", err)
	}
	if _, err := Explain(t.Context(), opts, "z", "dead"); err == nil {
		t.Error("a connection that is not there was explained")
	}
	l.onGet = func(context.Context, sandbox.Ref) error { return backend.ErrUnavailable }
	if _, err := Explain(t.Context(), opts, "a", "dead"); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("unavailable: %v", err)
	}
}
