// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package interop holds the product to its central promise: what a real
// terraform apply makes, the released Airflow attaches to, and what Airflow makes
// or leaves, the janitor judges rightly. It has tests only. They run the released
// providers (internal/airflow/airflowtest pins them), a Terraform, the built
// provider and the built janitor against the emulator of Modal.
package interop
