# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0
"""Runs the Dags that its input names, one a line, as `airflow dags test` does, and
says when one has ended. Its argument is the moment, and so the id, of their runs."""

import datetime
import importlib
import os
import sys

import httpx
from airflow.sdk.execution_time.supervisor import in_process_api_server

sys.path.insert(0, os.environ["AIRFLOW__CORE__DAGS_FOLDER"])
# The server within the process is made once, and does most of it when it is first
# asked something, which takes seconds.
httpx.Client(transport=in_process_api_server().transport, base_url="http://here.invalid").get("/health")
moment = datetime.datetime.fromisoformat(sys.argv[1])
for line in sys.stdin:
    name = line.strip()
    importlib.import_module(name).dag.test(run_after=moment, logical_date=moment)
    print("ended", name, flush=True)
