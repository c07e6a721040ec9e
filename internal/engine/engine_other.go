// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build !linux

package engine

import (
	"context"
	"fmt"
	"runtime"
)

// Engine starts commands; there is none on this operating system.
type Engine struct{}

// New always fails: the namespaces that isolation is made of are Linux's.
func New() (*Engine, error) {
	return nil, fmt.Errorf("%w: it needs Linux, this is %s", ErrUnavailable, runtime.GOOS)
}

// Preflight is never reached.
func (e *Engine) Preflight(context.Context) error { return ErrUnavailable }

// Start is never reached.
func (e *Engine) Start(Spec) (*Process, error) { return nil, ErrUnavailable }

// Check is never reached.
func (e *Engine) Check(Spec) error { return ErrUnavailable }

// Process is one started command.
type Process struct{}

// Wait is never reached.
func (p *Process) Wait() (Exit, error) { return Exit{Code: -1}, ErrUnavailable }

// Kill is never reached.
func (p *Process) Kill() {}
