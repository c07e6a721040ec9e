// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package e2e tells the product's one sentence with nothing but the programs that
// people run: Terraform declares a sandbox, a Dag attaches to it, the janitor
// cleans up after it. It has tests only.
package e2e
