# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0
"""Tasks that attach to sandboxes of Terraform's."""

from agents import DEFAULTS, ScriptedAgent, made, toolset
from airflow.sdk import DAG, task

by_variable = toolset("{{ var.value.sandbox_handle }}", conn_id="modal_api")

with DAG("attach", schedule=None, default_args=DEFAULTS) as dag:

    @task
    def of_the_run():
        """Presents what a task presents that says nothing: its run."""
        with toolset(made("of the run"), owner=None) as attached:
            return attached._backend.read_tags(attached.attach_to)

    @task
    def mapped(index):
        """Every index wants the one sandbox, and dies in its block."""
        attached = toolset(made("mapped"), owner=None)
        attached.__enter__()
        return attached._backend.read_tags(attached.attach_to)

    @task
    def read_outputs():
        return made("from a file")

    @task(trigger_rule="all_done")
    def original():
        """What the Dag file wrote, after agents were given rendered copies."""
        return by_variable.attach_to

    from_variable = ScriptedAgent(
        task_id="from_variable", prompt="echo from the variable | tee out", toolsets=[by_variable]
    )
    from_file = ScriptedAgent(
        task_id="from_file",
        prompt="echo from the file | tee out",
        toolsets=[toolset("{{ ti.xcom_pull(task_ids='read_outputs') }}", conn_id="modal_uri")],
    )
    of_an_index = ScriptedAgent.partial(
        task_id="of_an_index", toolsets=[toolset("{{ var.json.sandbox_handles[ti.map_index] }}")]
    ).expand(prompt=["echo the first | tee out", "echo the second | tee out"])
    templated_owner = ScriptedAgent(
        task_id="templated_owner",
        prompt="echo never",
        toolsets=[toolset("{{ var.value.sandbox_handle }}", owner="{{ dag.dag_id }}/{{ run_id }}")],
    )
    nothing_pushed = ScriptedAgent(
        task_id="nothing_pushed",
        prompt="echo never",
        toolsets=[toolset("{{ ti.xcom_pull(task_ids='original') }}")],
    )

    of_the_run()
    mapped.expand(index=list(range(4)))
    read_outputs() >> from_file
    [from_variable, templated_owner, nothing_pushed] >> original()
