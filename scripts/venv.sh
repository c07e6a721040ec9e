#!/bin/sh
# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

# Prints the interpreter of a virtual environment of Python, .cache/venv-NAME,
# that holds what REQUIREMENTS pins by version and hash. It is made once, and
# again when REQUIREMENTS changes.
#
#     scripts/venv.sh NAME REQUIREMENTS
set -eu
requirements=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
cd "$(dirname "$0")/.."
venv=$PWD/.cache/venv-$1
mkdir -p .cache
exec 9>"$venv.lock" # of two that come at once, one makes it
if command -v flock >/dev/null; then flock 9; fi
if ! cmp -s "$requirements" "$venv/requirements.txt"; then
	rm -rf "$venv"
	"${PYTHON:-python3}" -m venv "$venv" >&2
	"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
		--only-binary :all: --requirement "$requirements" >&2
	cp "$requirements" "$venv/requirements.txt"
fi
printf '%s\n' "$venv/bin/python"
