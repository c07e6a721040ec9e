#!/bin/sh
# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

# usage: fuzz.sh TIME
# Runs every fuzz test of the module for TIME, such as 3s. A failure leaves its
# input below testdata/fuzz, where go test finds it from then on.
set -eu
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
find internal cmd -name '*_test.go' -exec grep -Ho '^func Fuzz[A-Za-z0-9_]*' {} + | sed 's/:func / /' | sort | while read -r file fuzz; do
	if go test -run '^$' -fuzz "^$fuzz\$" -fuzztime "$1" "./$(dirname "$file")" >"$log" 2>&1; then
		printf 'ok  \t%s.%s\t%s\n' "$(dirname "$file")" "$fuzz" "$(sed -n 's/.*\(execs: [0-9]*\).*/\1/p' "$log" | tail -n 1)"
		if [ -n "${TALLY-}" ]; then echo 1 0 0 >>"$TALLY"; fi
	else
		cat "$log"
		exit 1
	fi
done
