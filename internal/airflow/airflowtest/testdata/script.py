# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

import sys

import airflow

print(sys.argv[1], airflow.__version__)
