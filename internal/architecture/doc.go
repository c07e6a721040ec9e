// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package architecture holds the tree to its own rules: which package may
// import which (ARCHITECTURE.md draws the arrows), how long a main may be, who
// may look at the clock, and how files and packages present themselves. It has
// tests only. Every rule is itself shown to fail on a planted breach.
package architecture
