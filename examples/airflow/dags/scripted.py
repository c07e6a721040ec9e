# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0
"""An agent whose model follows a script, so that the example needs no account and
no network. Everything but the model is Airflow's own."""

from functools import cached_property

from airflow.providers.common.ai.hooks.pydantic_ai import PydanticAIHook
from airflow.providers.common.ai.operators.agent import AgentOperator
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel


def script(messages, _info):
    """Writes the prompt into a file, runs that file, and answers with what it said."""
    asked = next(part.content for part in messages[0].parts if isinstance(part, UserPromptPart))
    answers = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if not answers:
        return ModelResponse([ToolCallPart("write_file", {"path": "task.sh", "content": asked})])
    if len(answers) == 1:
        return ModelResponse([ToolCallPart("run_command", {"command": "sh task.sh"})])
    return ModelResponse([TextPart(str(answers[-1].content))])


class ScriptedHook(PydanticAIHook):
    def get_conn(self):
        return FunctionModel(script)


class ScriptedAgent(AgentOperator):
    def __init__(self, **kwargs):
        super().__init__(llm_conn_id="scripted", **kwargs)

    @cached_property
    def llm_hook(self):
        return ScriptedHook(llm_conn_id=self.llm_conn_id)
