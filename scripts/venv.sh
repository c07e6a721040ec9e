#!/bin/sh
# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

# Prints the interpreter of the tests' virtual environment of Python, which holds
# the Airflow and the client of Modal's that airflowtest pins by version and hash.
# It is made once, and again when the pins change or the tree was moved: its
# programs begin with the path at which they were made.
set -eu
cd "$(dirname "$0")/.."
pins=internal/airflow/airflowtest/requirements.txt
mkdir -p .cache
venv=$(cd .cache && pwd -P)/venv-airflow
exec 9>"$venv.lock" # of two that come at once, one makes it
if command -v flock >/dev/null; then flock 9; fi
if ! cmp -s "$pins" "$venv/requirements.txt" || ! grep -qF "$venv/bin/" "$venv/bin/airflow"; then
	rm -rf "$venv"
	"${PYTHON:-python3}" -m venv "$venv" >&2
	"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
		--only-binary :all: --requirement "$pins" >&2
	cp "$pins" "$venv/requirements.txt"
fi
printf '%s\n' "$venv/bin/python"
