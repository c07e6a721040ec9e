// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build !linux

package janitor

// ThisProcess is empty: this system does not tell one life of a process number
// from another.
func ThisProcess() string { return "" }

// ProcessGone is false: it cannot tell.
func ProcessGone(string) bool { return false }
