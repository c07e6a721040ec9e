# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0
"""What the Dags are made of: agents without a language model, and reports.

What a task came to is one line of JSON in the file that REPORT names.
"""

import json
import os
from functools import cached_property

from airflow.providers.common.ai.operators.agent import AgentOperator
from airflow.providers.common.ai.sandbox.modal import ModalSandboxBackend
from airflow.providers.common.ai.toolsets.sandbox import SandboxToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

OWNER = "terraform:lab/interop"


def report(context):
    ti = context["ti"]
    came_to = {"task": ti.task_id, "index": ti.map_index}
    if context.get("exception"):
        came_to["error"] = str(context["exception"])
    else:
        came_to["output"] = ti.xcom_pull(ti.task_id, map_indexes=ti.map_index)
    with open(os.environ["REPORT"], "a") as file:
        file.write(json.dumps(came_to) + "\n")


DEFAULTS = {"llm_conn_id": "scripted", "on_success_callback": report, "on_failure_callback": report}


def made(name):
    """A handle out of the file of `terraform output -json`."""
    with open(os.environ["TERRAFORM_OUTPUTS"]) as file:
        return json.load(file)["made"]["value"][name]["handle"]


def toolset(attach_to, owner=OWNER, conn_id="modal_json"):
    return SandboxToolset(ModalSandboxBackend(modal_conn_id=conn_id), attach_to=attach_to, owner=owner)


def follow(messages, info):
    """Runs the last prompt as a command, and answers with what that says."""
    for part in reversed(messages[-1].parts):
        if isinstance(part, ToolReturnPart):
            return ModelResponse([TextPart(str(part.content))])
        if isinstance(part, UserPromptPart):
            return ModelResponse([ToolCallPart("run_command", {"command": part.content})])
    raise ValueError(messages)


class ScriptedAgent(AgentOperator):
    """An agent whose model follows the script; everything else is Airflow's."""

    @cached_property
    def llm_hook(self):
        hook = AgentOperator.llm_hook.func(self)
        hook._model = FunctionModel(follow)
        return hook
