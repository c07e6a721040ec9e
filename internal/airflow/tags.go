// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package airflow knows what Airflow's common.ai provider 1.0.0 means by its
// tags: owner, holder, expiry, network policy and working directory, and how
// its connections are written. It does no I/O. The rules are those of
// airflow/providers/common/ai/sandbox/base.py and modal.py.
package airflow

// The tag keys that Airflow writes and checks.
const (
	TagSandbox   = "airflow_sandbox"    // the sandbox's own name
	TagOwner     = "airflow_owner"      // who may attach; normally DAG_ID/RUN_ID
	TagHolder    = "airflow_holder"     // who is attached; absent between runs
	TagExpiresAt = "airflow_expires_at" // Unix seconds, decimal, no fraction
	TagNetwork   = "airflow_network"    // see EncodeNetwork
	TagWorkdir   = "airflow_workdir"    // absolute path
)
