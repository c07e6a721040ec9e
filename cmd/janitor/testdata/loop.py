# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

"""Ends every sandbox of a Modal app whose teardown was asked for a while ago."""

import sys
import time

import modal

GRACE_SECONDS = 15 * 60

app = modal.App.lookup(sys.argv[1])
for sandbox in modal.Sandbox.list(app_id=app.app_id):
    asked = sandbox.get_tags().get("taskowned_teardown_at")
    if asked is not None and time.time() - int(asked) > GRACE_SECONDS:
        sandbox.terminate()
