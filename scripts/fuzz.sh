#!/bin/sh
# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

# usage: fuzz.sh TIME
# Runs every fuzz test of the module for TIME, such as 3s. A failure leaves its
# input below testdata/fuzz, where go test finds it from then on. The tests of a
# package share one binary: go test would link it anew for each. It is interrupted
# when the time is up: by a clock of its own it may take that for a failure of the
# test (go.dev/issue/75804, mended in Go 1.27).
set -eu
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
corpus=$(go env GOCACHE)/fuzz # where go test keeps what it has found
find internal cmd -name '*_test.go' -exec grep -l '^func Fuzz' {} + | xargs -n 1 dirname | sort -u >"$scratch/packages"
while read -r package; do
	go test -c -fuzz . -o "$scratch/fuzz" "./$package"
	(
		cd "$package"
		"$scratch/fuzz" -test.list '^Fuzz' | while read -r fuzz; do
			if timeout --foreground --preserve-status --signal INT --kill-after 60s "$1" \
				"$scratch/fuzz" -test.run '^$' -test.fuzz "^$fuzz\$" -test.fuzzcachedir "$corpus/$(go list)" >"$scratch/log" 2>&1; then
				execs=$(sed -n 's/.*\(execs: [0-9]*\).*/\1/p' "$scratch/log" | tail -n 1)
				printf 'ok  \t%s.%s\t%s\n' "$package" "$fuzz" "${execs:-no more than what it knew}"
				if [ -n "${TALLY-}" ]; then echo 1 0 0 >>"$TALLY"; fi
			else
				cat "$scratch/log"
				exit 1
			fi
		done
	)
done <"$scratch/packages"
