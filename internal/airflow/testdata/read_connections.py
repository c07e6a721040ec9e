# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

"""Reads connections as Airflow does: a JSON list of {kind, conn_id, value} comes
in, and of each goes out what a task and what the server hold, and what ModalHook
or OpenSandboxBackend takes from it."""

import json
import os
import sys

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # Airflow logs there

from airflow.models.connection import Connection as ServerConnection
from airflow.providers.common.ai.sandbox.opensandbox import OpenSandboxBackend
from airflow.providers.modal.hooks.modal import ModalHook
from airflow.sdk import Connection as TaskConnection

FIELDS = ["conn_type", "host", "login", "password", "schema", "port"]


def fields(connection):
    held = {name: getattr(connection, name) for name in FIELDS if getattr(connection, name)}
    if connection.extra_dejson:
        held["extra"] = connection.extra_dejson
    return held


def server_connection(conn_id, value):
    if value.startswith("{"):
        return ServerConnection.from_json(value, conn_id=conn_id)
    return ServerConnection(conn_id=conn_id, uri=value)


def modal(conn_id):
    hook = ModalHook(modal_conn_id=conn_id)
    token_id, token_secret = hook.credentials or (None, None)
    return {"token_id": token_id, "token_secret": token_secret, "environment": hook.environment_name}


def opensandbox(conn_id):
    config = OpenSandboxBackend(opensandbox_conn_id=conn_id)._get_connection_config()
    return {
        "domain": config.domain,
        "protocol": config.protocol,
        "api_key": config.api_key,
        "request_timeout_seconds": config.request_timeout.total_seconds(),
        "use_server_proxy": config.use_server_proxy,
    }


def read(row):
    conn_id, value = row["conn_id"], row["value"]
    variable = f"AIRFLOW_CONN_{conn_id.upper()}"
    os.environ[variable] = value
    try:
        return {
            "task": fields(TaskConnection.get(conn_id)),
            "server": fields(server_connection(conn_id, value)),
            "modal": modal(conn_id) if row["kind"] == "modal" else None,
            "opensandbox": opensandbox(conn_id) if row["kind"] == "opensandbox" else None,
        }
    finally:
        del os.environ[variable]


json.dump([read(row) for row in json.load(sys.stdin)], answers)
