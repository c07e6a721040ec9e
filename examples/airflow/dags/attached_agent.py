# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0
"""An agent that works in the sandbox that Terraform keeps, and a task that
collects what the agent has left there.

Two Dags do the same and differ in where they learn of the sandbox:
attached_agent from the Variable "analysis", attached_agent_from_file from the
file that `terraform output -json` wrote beside main.tf.
"""

import json
from pathlib import Path

from airflow.providers.common.ai.sandbox.modal import ModalSandboxBackend
from airflow.providers.common.ai.toolsets.sandbox import SandboxToolset
from airflow.sdk import DAG, Variable, task
from scripted import ScriptedAgent  # for a real agent: AgentOperator, with the llm_conn_id of your model

OUTPUTS = Path(__file__).parent.parent / "outputs.json"
MAX_REPORT_BYTES = 1024 * 1024


def attachment_from_file():
    return json.loads(OUTPUTS.read_text())["analysis"]["value"]


def attachment_from_variable():
    return Variable.get("analysis", deserialize_json=True)


# The toolset takes no template for the owner. It is a name that never changes, so
# it is read when the Dag is parsed; the handle changes with every renewal.
OWNER = attachment_from_file()["owner"]


def attached_agent(dag_id, attachment_from):
    # One task at a time can hold the sandbox: a second one does not wait, it fails.
    with DAG(dag_id, schedule=None, max_active_runs=1, params={"prompt": "uname > report.txt && cat report.txt"}):

        @task
        def sandbox():
            """What the whole run uses, even if an apply renews the sandbox meanwhile."""
            return attachment_from()

        agent = ScriptedAgent(
            task_id="agent",
            prompt="{{ params.prompt }}",
            toolsets=[
                SandboxToolset(
                    ModalSandboxBackend(),  # with the Airflow connection modal_default, or this worker's credentials
                    attach_to="{{ ti.xcom_pull('sandbox')['handle'] }}",
                    owner=OWNER,
                )
            ],
        )

        @task
        def collect(sandbox):
            """Not attached, so paths are absolute; and the sandbox is Terraform's, so nothing ends it here."""
            report = f"{sandbox['workdir']}/report.txt"
            return ModalSandboxBackend().read_file(sandbox["handle"], report, max_bytes=MAX_REPORT_BYTES).decode()

        made = sandbox()
        made >> agent >> collect(made)


attached_agent("attached_agent", attachment_from_variable)
attached_agent("attached_agent_from_file", attachment_from_file)
