// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

// Options are how a server behaves. The zero value is a server that answers as
// soon as it can; what others measured of production stands beside each option.
type Options struct {
	// Listen is 127.0.0.1:PORT; empty or port 0 takes a free port.
	Listen string
	// Workspace is the name of the account; empty: "emulator".
	Workspace string
	// Token is the server's own credential; empty: a random one.
	Token Token
	// Environments of each workspace, the default one first; none: "main".
	Environments []string
	// Clock is by which sandboxes live and end; nil: this machine's. Who moves it
	// is noticed at the next call; Server.Advance is noticed at once. Tokens are
	// issued by it too, but end by this machine's, as the clients judge them by that.
	Clock clock.Clock
	// ClockAhead is how far that clock is ahead of what it should be.
	ClockAhead time.Duration
	// Log takes what a person should see, such as methods that are not known;
	// nil: nothing is logged.
	Log *slog.Logger

	// Latency is how long every call of the control plane takes at least.
	Latency time.Duration
	// PageSize is how many sandboxes one page of a list holds; 0: 100.
	PageSize int
	// TimestampGranularity rounds the times of creation down, so that several
	// sandboxes share one; 0: nanoseconds.
	TimestampGranularity time.Duration

	// PollLag is how long a terminated sandbox is still polled and listed as
	// running. Measured for Airflow's Modal backend: about 35 s.
	PollLag time.Duration
	// TimeoutLag is how long after its own end a sandbox still runs. Measured in
	// The-AI-Alliance/cube-standard#197: about 10 s.
	TimeoutLag time.Duration
	// DeadlineReportDelay is how long after the kill the end of a command past
	// its deadline is reported; zero: 100 ms, negative: at once. Python's client
	// has a clock of its own and says -1 from 10 ms on, and -1 or 137 below
	// (exec_deadline_python in testdata/modal_wire.json).
	DeadlineReportDelay time.Duration
	// BuildTime is how long the build of an image takes.
	BuildTime time.Duration
	// FailBuilds fails the build of every image with a command that holds one of
	// these strings.
	FailBuilds []string

	// The unknowns of production.

	// ReplayCreates answers a create that repeats an idempotency key with the
	// first one's reply. It is not known whether production does.
	ReplayCreates bool
	// TerminateUnknownOK answers a terminate of an unknown id with OK instead of
	// NOT_FOUND.
	TerminateUnknownOK bool
	// KeepTaskID answers the look-up of an ended sandbox's task with the task
	// instead of its result; then the access to it is NOT_FOUND.
	KeepTaskID bool
	// HoldName keeps the name of a terminated sandbox taken during PollLag.
	HoldName bool
	// ListWithoutTags and ListWithoutTimeout leave a field out of the list items
	// of these generations.
	ListWithoutTags, ListWithoutTimeout Generations
	// RetainFinished is how long a finished sandbox can be looked up and, with
	// include_finished, listed; 0: always.
	RetainFinished time.Duration
	// MaxTagBytes is how long a tag's name and value may be; 0: any.
	MaxTagBytes int
	// NoSeededAccess leaves the task and the access to the command router out of
	// the reply to a create.
	NoSeededAccess bool
	// AccessLifetime is how long an access to the command router is good; 0: one
	// hour. Clients fetch a new one when less than 30 s are left.
	AccessLifetime time.Duration
	// NoIssuedAt leaves iat out of the tokens, where only exp is asked for.
	NoIssuedAt bool
	// NoCheckedAt leaves the server's time out of the reply to
	// MountBatchedCheckExistence, where it is optional.
	NoCheckedAt bool
	// RouterScheme replaces the scheme of the command router's address; empty:
	// the one that the client at hand can use.
	RouterScheme string

	// Watch is called with every call twice, before it is handled and, with
	// After set, before it is answered. It may block.
	Watch func(Call)
}

// Generations is a set of the two generations of sandboxes.
type Generations uint8

// The generations.
const (
	V1 Generations = 1 << iota
	V2
)

func (g Generations) has(other Generations) bool { return g&other != 0 }

func (o Options) complete() Options {
	o.Workspace = cmp.Or(o.Workspace, "emulator")
	o.Token.ID = cmp.Or(o.Token.ID, "ak-"+randomBase62(22))
	o.Token.Secret = cmp.Or(o.Token.Secret, "as-"+randomBase62(22))
	o.Environments = slices.Clone(o.Environments)
	if len(o.Environments) == 0 {
		o.Environments = []string{"main"}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.PageSize = cmp.Or(o.PageSize, 100)
	o.DeadlineReportDelay = cmp.Or(o.DeadlineReportDelay, 100*time.Millisecond)
	o.AccessLifetime = cmp.Or(o.AccessLifetime, time.Hour)
	return o
}
