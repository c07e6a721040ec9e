# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0
"""Puts rows of the tables in internal/airflow/testdata through the released
Airflow, one row at a time, with a store of tags or a recorder for a vendor."""

import contextlib
import time
import types
import unittest.mock

import modal
from airflow.providers.common.ai.sandbox.base import (
    AttachableSandboxBackend,
    SandboxError,
    SandboxSpec,
    SandboxTerminalError,
)
from airflow.providers.common.ai.sandbox.modal import ModalSandboxBackend
from airflow.providers.common.ai.toolsets.sandbox import SandboxToolset
from airflow.sdk.execution_time.context import set_current_context

BASE = "airflow.providers.common.ai.sandbox.base"
MODAL = "airflow.providers.common.ai.sandbox.modal"
TOOLSET = "airflow.providers.common.ai.toolsets.sandbox"


def clock(now, pauses=None):
    sleep = pauses.append if pauses is not None else time.sleep
    return types.SimpleNamespace(time=lambda: now, monotonic=time.monotonic, sleep=sleep)


class Store(AttachableSandboxBackend):
    """The tags of one sandbox, with others that write and fail in between."""

    name = "store"

    def __init__(self, tags, interference):
        self.tags = tags
        self.interference = interference
        self.calls = []

    def interfere(self, moment):
        happens = self.interference.get(moment)
        if isinstance(happens, dict):
            self.tags = {k: v for k, v in {**self.tags, **happens}.items() if v is not None}
        elif happens == "recoverable":
            raise SandboxError("recoverable")
        elif happens == "gone":
            raise SandboxTerminalError("gone")
        elif happens == "python_error":
            raise OSError("no error of the contract's")

    def read_tags(self, sandbox):
        self.calls.append("read")
        self.interfere(f"read{self.calls.count('read')}")
        if self.tags is None:
            raise SandboxTerminalError("gone")
        return dict(self.tags)

    def write_tags(self, sandbox, tags):
        self.calls.append("write")
        number = self.calls.count("write")
        self.interfere(f"before_write{number}")
        if isinstance(self.interference.get(f"write{number}"), str):
            return self.interfere(f"write{number}")
        self.tags = dict(tags)
        self.interfere(f"write{number}")

    def create(self, *, spec=None):
        raise NotImplementedError

    destroy = run_command = create


def replay(now, row):
    """A row of attach.json."""
    store = Store(row["tags_before"], row.get("interference") or {})
    pauses = []
    seen = {"outcome": {"attach": "attached", "release": "returned", "toolset": "finished"}[row["operation"]]}
    with unittest.mock.patch(f"{BASE}.time", clock(now)), unittest.mock.patch(f"{TOOLSET}.time", clock(now, pauses)):
        try:
            {"attach": _attach, "release": _release, "toolset": _toolset}[row["operation"]](store, row, seen)
        except ZeroDivisionError:
            seen["outcome"] = "body_error_raised"
        except Exception as error:  # what Airflow raises is what is asked
            seen["outcome"] = "raised" if row["operation"] == "release" else "refused"
            seen["error"] = {
                "type": type(error).__name__,
                "terminal": isinstance(error, SandboxTerminalError),
                "message": str(error),
            }
    return {**seen, "calls": store.calls, "tags_after": store.tags, "release_pauses_seconds": pauses}


def _attach(store, row, seen):
    found = store.attach("sb-x", owner=row["owner"], holder=row["holder"])
    seen["remaining_seconds"] = found.remaining_lifetime
    seen["network_known"] = found.network is not None
    seen["workdir"] = found.workdir


def _release(store, row, seen):
    store.release("sb-x", holder=row["holder"])


def _toolset(store, row, seen):
    task = types.SimpleNamespace(
        dag_id="etl", run_id="scheduled__2026-10-05T00:00:00+00:00", task_id="agent", map_index=-1
    )
    outside = "outside_task" in row["name"]
    with contextlib.nullcontext() if outside else set_current_context({"ti": task}):
        toolset = SandboxToolset(store, attach_to="{{ handle }}", owner=row["owner_argument"])
        toolset.attach_to = row["handle"]  # as the templater does
        with toolset:
            seen["tags_during"] = dict(store.tags)
            if "body_raises" in row["name"]:
                raise ZeroDivisionError


class Handle:
    """A sandbox of Modal's whose tags cannot be read once it is told so."""

    def __init__(self):
        self.tags = {"airflow_owner": "etl/run"}
        self.error = None
        self.failed = 0

    def get_tags(self):
        if self.error:
            self.failed += 1
            raise self.error
        return dict(self.tags)

    def set_tags(self, tags):
        self.tags = tags

    def poll(self):
        return None


def release_modal(now, row):
    """A row of modal_release in attach.json."""
    handle, pauses = Handle(), []
    backend = ModalSandboxBackend(modal_conn_id=None)
    toolset = SandboxToolset(backend, attach_to="sb-x", owner="etl/run")
    with (
        unittest.mock.patch.object(backend, "_handle", lambda sandbox: handle),
        unittest.mock.patch(f"{TOOLSET}.time", clock(now, pauses)),
    ):
        with toolset:
            handle.error = getattr(modal.exception, row["vendor_error"])("as the vendor says")
    return {"tag_reads": handle.failed, "pauses_seconds": pauses, "holder_left": "airflow_holder" in handle.tags}


def judge(now, row, settings):
    """A row of spec_refusals.json: what create asks of the vendor, or refuses."""
    backend = ModalSandboxBackend(modal_conn_id=None, **settings)
    asked = {}

    def record(**keywords):
        asked.update(keywords)
        return types.SimpleNamespace(object_id="sb-x")

    hook = types.SimpleNamespace(create_sandbox=record, credentials=None)
    with (
        unittest.mock.patch.object(backend, "_connected_hook", lambda: hook),
        unittest.mock.patch(f"{MODAL}.time", clock(now)),
        unittest.mock.patch(f"{MODAL}._new_sandbox_name", lambda: "airflow-sandbox-0123456789ab"),
    ):
        try:
            backend.create(spec=None if row["spec"] is None else SandboxSpec(**row["spec"]))
        except SandboxTerminalError as error:
            return {"refused": str(error)}
    asked.pop("image")
    return {"asked": asked}
