#!/bin/sh
# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

# Prints every figure, one line each, and fails when one falls short. Only the
# time of make test is missing: make test prints it itself.
set -eu
cd "$(dirname "$0")/.."
log=$(mktemp)
clone=$(mktemp -d)
trap 'rm -rf "$log" "$clone"' EXIT
status=0

scripts/acceptance.sh .cache/bin/gotest -figures -- -tags figures -run '^TestFigure' -count=1 -p 1 ./... || status=1

# timed NAME LIMIT COMMAND... prints how many seconds COMMAND took.
timed() {
	figure=$1 limit=$2
	shift 2
	start=$(date +%s)
	if ! "$@" >"$log" 2>&1; then
		cat "$log" >&2
		status=1
		return
	fi
	seconds=$(($(date +%s) - start)) verdict=ok
	[ "$seconds" -le "$limit" ] || verdict=short status=1
	printf 'figure=%s value=%d limit=%d verdict=%s\n' "$figure" "$seconds" "$limit" "$verdict"
}

# Once to warm up, once to measure.
"${MAKE:-make}" --no-print-directory check >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
timed make_check_seconds 90 "${MAKE:-make}" --no-print-directory check

TERRAFORM=$(scripts/terraform.sh)
export TERRAFORM
git clone --quiet . "$clone"
timed make_demo_seconds 30 "${MAKE:-make}" --no-print-directory -C "$clone" demo

exit $status
