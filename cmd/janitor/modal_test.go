// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package main

import (
	"bytes"
	"maps"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// production are the delays that were measured at Modal.
var production = emulator.Options{PollLag: 35 * time.Second, TimeoutLag: 10 * time.Second}

func TestOnModalExactlyWhatIsDeadIsReclaimed(t *testing.T) {
	opts := production
	opts.TimeoutLag = 100 * time.Hour // Modal does not end it
	a := newAccount(t, opts, "grace: {retired: 1ms}")
	retired := sandbox.Tags{sandbox.TagRetiredAt: a.ago(30 * time.Minute)}
	held := maps.Clone(retired)
	held[airflow.TagHolder] = "etl/run/task"
	torn := a.stand(t, 2, a.torn())
	free, busy := a.stand(t, 2, retired), a.stand(t, 2, held)
	alive := a.stand(t, 2, nil)
	foreign, err := a.server.Seed(emulator.Seed{App: modalApp, Tags: map[string]string{"team": "research"}, Created: a.server.Now().Add(-3 * time.Hour), Timeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	expired, err := a.server.Seed(emulator.Seed{
		App: modalApp, Created: a.server.Now().Add(-3 * time.Hour), Timeout: time.Hour,
		Tags: map[string]string{airflow.TagSandbox: "airflow-sandbox-0123456789ab", tagExpiresAt: a.ago(2 * time.Hour)},
	})
	if err != nil {
		t.Fatal(err)
	}

	if out, status := a.run(t, "sweep", "--auto-approve"); status != 0 || !strings.Contains(out, "3 reclaimed") {
		t.Errorf("the first sweep exits %d:\n%s", status, out)
	}
	a.check(t, "torn", torn, false)
	a.check(t, "expired", expired, false)
	a.check(t, "replaced, at the first look", free, true)
	if out, status := a.run(t, "sweep", "--auto-approve"); status != 0 || !strings.Contains(out, "2 reclaimed") {
		t.Errorf("the second sweep exits %d:\n%s", status, out)
	}
	a.check(t, "replaced and free", free, false)
	a.check(t, "replaced and held", busy, true)
	a.check(t, "alive", alive, true)
	a.check(t, "foreign", foreign, true)
}

func TestAHostWhoseClockIsNotModalsReclaimsNothing(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"ours is ahead": -time.Hour, "ours is behind": time.Hour} {
		t.Run(name, func(t *testing.T) {
			opts := production
			opts.ClockAhead = ahead
			a := newAccount(t, opts, "")
			torn := a.stand(t, 1, a.torn())
			if out, status := a.run(t, "sweep", "--auto-approve"); status != 3 || !strings.Contains(out, "correct the clock of this machine") {
				t.Errorf("a sweep exits %d:\n%s", status, out)
			}
			a.check(t, "torn", torn, true)
			if out, status := a.run(t, "explain", "prod#"+torn[0]); status != 0 || !strings.Contains(out, "1h0m0s apart") {
				t.Errorf("explain exits %d:\n%s", status, out)
			}
		})
	}
}

func TestWhereModalDoesNotTellItsTimeAPersonMustVouchForOurs(t *testing.T) {
	opts := production
	opts.NoIssuedAt, opts.NoCheckedAt = true, true
	a := newAccount(t, opts, "")
	torn := a.stand(t, 1, a.torn())
	if out, status := a.run(t, "sweep", "--auto-approve"); status != 3 || !strings.Contains(out, "trust_host_clock: true") {
		t.Errorf("a sweep exits %d:\n%s", status, out)
	}
	a.check(t, "torn", torn, true)
	text, err := os.ReadFile(a.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.config, bytes.Replace(text, []byte(`uri: "modal:"`), []byte(`uri: "modal:", trust_host_clock: true`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, status := a.run(t, "sweep", "--auto-approve"); status != 0 || !strings.Contains(out, "1 reclaimed") {
		t.Errorf("with a clock that is trusted it exits %d:\n%s", status, out)
	}
	a.check(t, "torn", torn, false)
}

func TestATokenOfAnotherAccountReclaimsAndForgetsNothing(t *testing.T) {
	a := newAccount(t, production, "")
	torn := a.stand(t, 1, a.torn())
	a.server.Fail("SandboxTerminateV2", emulator.Fault{Code: codes.PermissionDenied, Times: -1})
	if out, status := a.run(t, "sweep", "--auto-approve"); status != 2 {
		t.Errorf("a sweep that may not terminate exits %d:\n%s", status, out)
	}
	a.server.Heal()

	other := a.server.AddToken("another")
	prepared(t, a.open(t, "MODAL_TOKEN_ID="+other.ID, "MODAL_TOKEN_SECRET="+other.Secret))
	there := a.command(t, "sweep", "--auto-approve")
	there.Env = append(there.Env, "MODAL_TOKEN_ID="+other.ID, "MODAL_TOKEN_SECRET="+other.Secret)
	var out bytes.Buffer
	there.Stdout, there.Stderr = &out, &out
	if status := statusOf(t, there.Run(), &out); status != 3 || !strings.Contains(out.String(), "another/ap-") || !strings.Contains(out.String(), "emulator/ap-") {
		t.Errorf("with another's token it exits %d:\n%s", status, &out)
	}

	a.check(t, "torn", torn, true)
	if out, status := a.run(t, "retry", "prod#"+torn[0]); status != 0 {
		t.Errorf("the failed attempt is forgotten: exit %d\n%s", status, out)
	}
	if out, status := a.run(t, "sweep", "--auto-approve"); status != 0 {
		t.Errorf("with ours again it exits %d:\n%s", status, out)
	}
	a.check(t, "torn", torn, false)
}

func TestTwoJanitorsOfOneModalAppHarmNothing(t *testing.T) {
	opts := production
	opts.Latency, opts.PageSize = 2*time.Millisecond, 10
	a := newAccount(t, opts, "limits: {deletes_per_run: 100}")
	b := a.another(t, "limits: {deletes_per_run: 100}")
	alive, torn := a.stand(t, 40, nil), a.stand(t, 40, a.torn())
	var both sync.WaitGroup
	var reclaimed atomic.Int64
	for _, janitor := range []account{a, b} {
		both.Go(func() {
			out, status := janitor.run(t, "sweep", "--auto-approve")
			if status != 0 {
				t.Errorf("beside the other it exits %d:\n%s", status, out)
			}
			reclaimed.Add(int64(strings.Count(out, " reclaimed  ")))
		})
	}
	both.Wait()
	if n := reclaimed.Load(); n != int64(len(torn)) {
		t.Errorf("of %d, the two say to have reclaimed %d", len(torn), n)
	}
	a.check(t, "torn", torn, false)
	a.check(t, "alive", alive, true)
	for _, janitor := range []account{a, b} {
		if out, status := janitor.run(t, "sweep", "--auto-approve"); status != 0 || strings.Contains(out, " asked to end") {
			t.Errorf("afterwards it exits %d:\n%s", status, out)
		}
	}
}

func TestASweepOfModalCostsItsPagesAndThreeCallsForEachThatItReclaims(t *testing.T) {
	for name, generation := range map[string]emulator.Generations{"V1": emulator.V1, "V2": emulator.V2} {
		opts := production
		opts.PageSize = 20
		a := newAccount(t, opts, "limits: {deletes_per_run: 100}")
		a.generation = generation
		a.stand(t, 180, nil)
		torn := a.stand(t, 20, a.torn())
		out, status := a.run(t, "sweep", "--auto-approve")
		if status != 0 || !strings.Contains(out, "20 reclaimed. exit 0") {
			t.Errorf("%s: it exits %d:\n%s", name, status, out)
		}
		a.check(t, name, torn, false)
		pages := 200/opts.PageSize + 1 // the last one is empty, which is how Modal's clients know the end
		if most := pages + 3*len(torn) + 5; a.calls() > most {
			t.Errorf("%s: %d calls, want at most %d: %v", name, a.calls(), most, a.server.Calls())
		}
	}
}

// TestKilledAtAnyCallToModalTheNextRunEndsTheSame kills a sweep before and after
// the effect of each call that it makes.
func TestKilledAtAnyCallToModalTheNextRunEndsTheSame(t *testing.T) {
	for at, finished := int64(1), false; !finished; at++ {
		var seen atomic.Int64
		reached, killed := make(chan struct{}), make(chan struct{})
		opts := production
		opts.PageSize = 2
		opts.Watch = func(emulator.Call) {
			if seen.Add(1) == at {
				close(reached)
				<-killed
			}
		}
		a := newAccount(t, opts, "")
		alive, torn := a.stand(t, 1, nil), a.stand(t, 2, a.torn())
		cmd := a.command(t, "sweep", "--auto-approve")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-reached:
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err == nil {
				t.Errorf("killed at call %d, it ended well", at)
			}
		case err := <-ended:
			finished = err == nil
		}
		close(killed)
		for range 3 {
			if out, status := a.run(t, "sweep", "--auto-approve"); status != 0 {
				t.Errorf("killed at call %d, the next sweep exits %d:\n%s", at, status, out)
			}
		}
		a.check(t, "torn", torn, false)
		a.check(t, "alive", alive, true)
		if t.Failed() {
			t.Fatalf("killed at call %d", at)
		}
	}
}
