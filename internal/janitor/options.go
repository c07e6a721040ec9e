// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// Connection is one place to sweep.
type Connection struct {
	Name    string
	Backend backend.Backend // nil when it could not be opened: OpenError
	Policy  verdict.Policy
	// OpenError is why there is no Backend; it is reported as a failed look.
	OpenError error
	// AirflowError is why nobody can be asked of the Airflow that Policy names.
	AirflowError error
}

// Options are what a run needs. Store, Clock and Connections are required.
type Options struct {
	Connections []Connection
	Store       Store
	Clock       clock.Clock
	Log         *slog.Logger // nil: discarded

	// Airflow are the deployments that the policies name, by that name.
	Airflow map[string]Airflow

	DeletesPerRun int           // attempts in one run over all connections; 0: DefaultDeletesPerRun
	RunDeadline   time.Duration // nothing is begun after it; 0: DefaultRunDeadline; at most MaxRunDeadline
	CallTimeout   time.Duration // of one read or destroy; 0: DefaultCallTimeout
	ListTimeout   time.Duration // of one whole listing; 0: DefaultListTimeout
	StopGrace     time.Duration // for calls in flight after the context ends; 0: DefaultStopGrace
	Settle        time.Duration // how long a claim must stand before a destroy; 0: airflow.Settling
	Parallel      int           // connections at once; 0: DefaultParallel
	PerConnection int           // items of one connection at once; 0: DefaultPerConnection

	// Approved says what a sweep may attempt of what is condemned; nil: all of
	// it. A person's yes is to what was shown, not to what died since, and to a
	// release it is none to a destroy.
	Approved func(connection string, v verdict.Verdict) bool

	Host string // for people; such as the host name
	// Process identifies this process and Gone reports that another is certainly
	// gone, so that a killed run need not be waited for. See ThisProcess.
	Process string
	Gone    func(process string) bool

	// blind, in tests, takes away a fact before it is judged, to see that the
	// rail which stands on it was needed.
	blind func(*verdict.Facts, *verdict.Policy)
}

// The defaults of Options.
const (
	DefaultDeletesPerRun = 20
	DefaultRunDeadline   = 10 * time.Minute
	MaxRunDeadline       = time.Hour
	DefaultCallTimeout   = 30 * time.Second
	DefaultListTimeout   = 5 * time.Minute
	DefaultStopGrace     = 25 * time.Second
	DefaultParallel      = 8
	DefaultPerConnection = 4
)

func (o Options) withDefaults() Options {
	o.DeletesPerRun = cmp.Or(o.DeletesPerRun, DefaultDeletesPerRun)
	o.RunDeadline = min(cmp.Or(o.RunDeadline, DefaultRunDeadline), MaxRunDeadline)
	o.CallTimeout = cmp.Or(o.CallTimeout, DefaultCallTimeout)
	o.ListTimeout = cmp.Or(o.ListTimeout, DefaultListTimeout)
	o.StopGrace = cmp.Or(o.StopGrace, DefaultStopGrace)
	o.Settle = cmp.Or(o.Settle, airflow.Settling)
	o.Parallel = cmp.Or(o.Parallel, DefaultParallel)
	o.PerConnection = cmp.Or(o.PerConnection, DefaultPerConnection)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
