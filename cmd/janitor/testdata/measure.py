# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

"""Runs a command and writes into a file its seconds and its most memory, in KiB.

The kernel counts what the starter of a command has in memory as the command's.
This starter has little, the tests' emulator has much.
"""

import resource
import subprocess
import sys
import time

began = time.monotonic()
status = subprocess.call(sys.argv[2:])
seconds = time.monotonic() - began
with open(sys.argv[1], "w") as result:
    print(seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=result)
sys.exit(status)
