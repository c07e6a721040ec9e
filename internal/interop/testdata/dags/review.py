# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0
"""An agent whose result a person reviews; what they ask for is a second run."""

from agents import DEFAULTS, ScriptedAgent, made, toolset
from airflow.sdk import DAG

with DAG("review", schedule=None, default_args=DEFAULTS) as dag:
    ScriptedAgent(
        task_id="agent",
        prompt="echo draft | tee out",
        toolsets=[toolset(made("reviewed"))],
        enable_hitl_review=True,
        hitl_poll_interval=0.2,
    )
