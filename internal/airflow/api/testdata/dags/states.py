# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

"""Dags whose tasks end in every way and stay alive in every way."""

import datetime
import time

from airflow.exceptions import AirflowSkipException
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.providers.standard.sensors.date_time import DateTimeSensorAsync
from airflow.sdk import DAG, get_current_context, task

with DAG("ended", schedule=None):

    @task
    def success(): ...

    @task
    def failed():
        raise ValueError("on purpose")

    @task
    def upstream_failed(): ...

    @task
    def skipped():
        raise AirflowSkipException

    @task(retries=1, retry_delay=datetime.timedelta(0))
    def retried():
        if get_current_context()["ti"].try_number == 1:
            raise ValueError("on purpose")

    @task
    def mapped(n): ...

    success()
    failed() >> upstream_failed()
    skipped()
    retried()
    mapped.expand(n=[0, 1])

with DAG("alive", schedule=None):

    @task
    def running():
        while True:
            time.sleep(0.1)

    @task(retries=1, retry_delay=datetime.timedelta(hours=1))
    def up_for_retry():
        raise ValueError("on purpose")

    DateTimeSensorAsync(task_id="deferred", target_time="2100-01-01T00:00:00+00:00")
    ApprovalOperator(task_id="awaiting_input", subject="Shall it live?")
    running()
    up_for_retry()

# Of these two only rows are made, by rows.py.
with DAG("hidden", schedule=None):
    success()

with DAG("números", schedule=None):
    success()
