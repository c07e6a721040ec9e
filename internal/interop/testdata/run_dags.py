# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0
"""Runs Dags to their end as `airflow dags test` does, one after another and each in
the run of a known id: its arguments are Dags, and the moment of their runs. It
gets ready, and begins when its input ends."""

import datetime
import importlib
import os
import sys

import httpx
from airflow.sdk.execution_time.supervisor import in_process_api_server

sys.path.insert(0, os.environ["AIRFLOW__CORE__DAGS_FOLDER"])
*dags, moment = sys.argv[1:]
# The server within the process is made once, and does most of it when it is first
# asked something, which takes seconds.
httpx.Client(transport=in_process_api_server().transport, base_url="http://here.invalid").get("/health")
dags = [importlib.import_module(name).dag for name in dags]
sys.stdin.read()
for dag in dags:
    when = datetime.datetime.fromisoformat(moment)
    dag.test(run_after=when, logical_date=when)
