# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

from airflow.sdk import dag, task


@dag(schedule=None)
def fails():
    @task
    def bad():
        raise ValueError("on purpose")

    bad()


fails()
