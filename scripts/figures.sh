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

# A clean clone: once with nothing built, once with what the first has built.
TERRAFORM=$(scripts/terraform.sh)
export TERRAFORM
chmod 755 "$clone" # root's sandboxes run as other users, who must get there
git clone --quiet . "$clone/once"
git clone --quiet . "$clone/again"
timed cold_build_seconds 300 env GOCACHE="$clone/cache" "${MAKE:-make}" --no-print-directory -C "$clone/once" build
timed make_demo_seconds 30 env GOCACHE="$clone/cache" "${MAKE:-make}" --no-print-directory -C "$clone/again" demo

exit $status
