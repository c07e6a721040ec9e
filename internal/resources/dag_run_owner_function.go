// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
)

// NewDagRunOwnerFunction makes the function dag_run_owner.
func NewDagRunOwnerFunction() function.Function { return dagRunOwnerFunction{} }

// dagRunOwnerFunction writes the owner that Airflow's SandboxToolset presents
// in a run when it is given none.
type dagRunOwnerFunction struct{}

// Metadata names the function.
func (dagRunOwnerFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "dag_run_owner"
}

// Definition describes the function.
func (dagRunOwnerFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "The owner of an Airflow Dag run",
		MarkdownDescription: "Returns the `owner` of a sandbox to which the tasks of one Dag run may attach: " +
			"what Airflow's `SandboxToolset` presents when it is given no owner. Refuses what Airflow takes neither as " +
			"a Dag id nor as a run id.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "dag_id", MarkdownDescription: "The Dag's id."},
			function.StringParameter{Name: "run_id", MarkdownDescription: "The run's id, such as `manual__2026-10-05T00:00:00+00:00`."},
		},
		Return: function.StringReturn{},
	}
}

// Run checks each argument and joins them.
func (dagRunOwnerFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var dagID, runID string
	if resp.Error = req.Arguments.Get(ctx, &dagID, &runID); resp.Error != nil {
		return
	}
	if err := airflow.CheckDagID(dagID); err != nil {
		resp.Error = function.NewArgumentFuncError(0, err.Error())
		return
	}
	if err := airflow.CheckRunID(runID); err != nil {
		resp.Error = function.NewArgumentFuncError(1, err.Error())
		return
	}
	resp.Error = resp.Result.Set(ctx, airflow.DagRun{DagID: dagID, RunID: runID}.Owner())
}
