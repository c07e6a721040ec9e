# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0
"""Does what the tests ask with the released Airflow, outside a task: reads one
request a line from standard input, {"do": NAME, "with": {...}}, and answers with
one line of JSON, {"result": ..., "error": ..., "logs": [...]}.

It asserts nothing: the tests do.
"""

import asyncio
import json
import logging
import os
import sys
import time
import types
import unittest.mock

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # whatever else is printed is a complaint

import contract
import modal
from airflow.providers.common.ai.sandbox import base
from airflow.providers.common.ai.sandbox.base import SandboxSpec, SandboxTerminalError
from airflow.providers.common.ai.sandbox.modal import ModalSandboxBackend
from airflow.providers.common.ai.toolsets.sandbox import SandboxToolset
from airflow.providers.modal.hooks.modal import ModalHook

OPERATIONS = {}
ATTACHED = {}  # toolsets within their block, by handle


def operation(function):
    OPERATIONS[function.__name__] = function
    return function


class Logs(logging.Handler):
    """Keeps what the providers say until it is answered."""

    def __init__(self):
        super().__init__(logging.INFO)
        self.lines = []

    def emit(self, record):
        self.lines.append({"level": record.levelname, "message": record.getMessage()})

    def take(self):
        lines, self.lines = self.lines, []
        return lines


def backend(settings=None):
    """A new one, as each task has: the credentials are those of the environment."""
    return ModalSandboxBackend(**{"modal_conn_id": None, **(settings or {})})


def toolset(handle, owner=None, settings=None):
    return SandboxToolset(backend(settings), attach_to=handle, owner=owner)


@operation
def attach(handle, owner=None, settings=None):
    """Enters the block of a toolset, and returns what the model is told of it."""
    entered = toolset(handle, owner, settings)
    entered.__enter__()
    ATTACHED[handle] = entered
    tools = asyncio.run(entered.get_tools(None))
    return tools["run_command"].tool_def.description


@operation
def attach_rendered(rendered, owner):
    """Enters with a handle that a template gave, as the templater sets it."""
    made = toolset("{{ handle }}", owner)
    made.attach_to = rendered
    with made:
        pass


@operation
def tool(handle, name, args):
    """Has the model's tool called within the block."""
    return asyncio.run(ATTACHED[handle].call_tool(name, args, None, None))


@operation
def release(handle):
    ATTACHED.pop(handle).__exit__(None, None, None)


@operation
def fail(handle):
    """Ends the block with an exception."""
    error = ZeroDivisionError("the block failed")
    ATTACHED.pop(handle).__exit__(type(error), error, None)


@operation
def die(handle):
    """Leaves the block as a killed worker does: nothing is released."""
    del ATTACHED[handle]


@operation
def read_tags(handle):
    return backend().read_tags(handle)


@operation
def create(spec=None, settings=None, ago=0):
    """Makes a sandbox as the creating task does, or did so many seconds ago."""
    clock = types.SimpleNamespace(time=lambda: time.time() - ago, monotonic=time.monotonic)
    with unittest.mock.patch("airflow.providers.common.ai.sandbox.modal.time", clock):
        return backend(settings).create(spec=None if spec is None else SandboxSpec(**spec))


@operation
def create_plain(app, tags):
    """Makes a sandbox with Modal's SDK alone, as others in the same app may."""
    found = modal.App.lookup(app, create_if_missing=True)
    return modal.Sandbox.create(app=found, tags=tags, timeout=120).object_id


@operation
def destroy(handle):
    backend().destroy(handle)


@operation
def connection(value):
    """Returns what a hook takes from AIRFLOW_CONN_WRITTEN."""
    os.environ["AIRFLOW_CONN_WRITTEN"] = value
    hook = ModalHook("written")
    token_id, token_secret = hook.credentials
    return {"token_id": token_id, "token_secret": token_secret, "environment": hook.environment_name}


@operation
def encode_network(spec):
    return base.encode_network_policy(SandboxSpec(**spec))


@operation
def decode_network(tag):
    read = base.decode_network_policy(tag)
    return {
        "block_network": read.block_network,
        "allow_egress_to": read.allow_egress_to,
        "allow_egress_to_cidrs": read.allow_egress_to_cidrs,
    }


@operation
def replay(now, rows):
    return [contract.replay(now, row) for row in rows]


@operation
def release_modal(now, row):
    return contract.release_modal(now, row)


@operation
def judge(now, rows, settings):
    return [contract.judge(now, row, settings) for row in rows]


def main():
    logs = Logs()
    logger = logging.getLogger("airflow.providers.common.ai")
    logger.setLevel(logging.INFO)
    logger.addHandler(logs)
    for line in sys.stdin:
        request = json.loads(line)
        answer = {}
        try:
            answer["result"] = OPERATIONS[request["do"]](**(request["with"] or {}))
        except Exception as error:  # what Airflow raises is what is asked
            answer["error"] = {
                "type": type(error).__name__,
                "terminal": isinstance(error, SandboxTerminalError),
                "message": str(error),
            }
        answer["logs"] = logs.take()
        print(json.dumps(answer), file=answers, flush=True)


main()
