// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"context"
	"errors"
)

// Engine starts commands. It is made once and safe for concurrent use.
type Engine struct{}

// New finds bubblewrap and makes sure that it can be trusted and has every
// ability that the engine relies on. It starts no command; see Preflight.
func New() (*Engine, error) { return nil, errors.New("not built yet") }

// Preflight runs the real chain once with `true`, as uid 65534 when the caller
// is root. Its error says what the host lacks and the exact remedy.
func (e *Engine) Preflight(ctx context.Context) error { return errors.New("not built yet") }

// Start starts the command of spec. It returns when bubblewrap is running,
// which is before the command is; the caller must call Wait, once.
func (e *Engine) Start(spec Spec) (*Process, error) { return nil, errors.New("not built yet") }

// Process is one started command.
type Process struct{}

// Wait waits until the command and everything it started is gone.
func (p *Process) Wait() (Exit, error) { return Exit{Code: -1}, errors.New("not built yet") }

// Kill ends the command and everything it started. It may be called at any
// time, from any goroutine, any number of times.
func (p *Process) Kill() {}
