#!/bin/sh
# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

# usage: stages.sh NAME LIMIT TARGET...
# Makes each TARGET in turn, goes on after a failure, and ends with the time of
# each, the tests that ran in all, and the total against LIMIT seconds.
set -eu
name=$1 limit=$2
shift 2

TALLY=$(mktemp)
export TALLY
table=$(mktemp)
trap 'rm -f "$TALLY" "$table"' EXIT

begin=$(date +%s)
failed=
for stage; do
	printf '\n== %s\n' "$stage"
	start=$(date +%s)
	if "${MAKE:-make}" --no-print-directory "$stage"; then verdict=ok; else verdict=FAILED failed="$failed $stage"; fi
	printf '%-14s %5d s  %s\n' "$stage" $(($(date +%s) - start)) "$verdict" >>"$table"
done
total=$(($(date +%s) - begin))

printf '\n'
cat "$table"
printf '%-14s %5d s\n' total "$total"
verdict=ok
[ "$total" -le "$limit" ] || verdict=short
printf 'figure=make_%s_seconds value=%d limit=%d verdict=%s\n' "$name" "$total" "$limit" "$verdict"
awk '{ passed += $1; failed += $2; skipped += $3 }
	END { printf "%d passed, %d failed", passed, failed; if (skipped) printf ", %d skipped", skipped; print "" }' "$TALLY"
if [ -n "$failed" ]; then
	printf 'make %s failed in:%s\n' "$name" "$failed" >&2
	exit 1
fi
