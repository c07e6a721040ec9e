#!/bin/sh
# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

# usage: docs.sh [--check]
# Writes docs/ from the provider's schemas, templates/ and examples/. With
# --check it changes nothing, and fails when docs/ differs from what it would
# write or an example is not formatted.
set -eu
cd "$(dirname "$0")/.."
target=docs
[ "${1-}" != --check ] || target=.cache/docs
go run ./scripts/schema >.cache/schema.json
.cache/bin/tfplugindocs generate --provider-name sandbox --providers-schema .cache/schema.json \
	--rendered-website-dir "$target" >.cache/docs.log || { cat .cache/docs.log; exit 1; }
if [ "${1-}" = --check ]; then
	"$(scripts/terraform.sh)" fmt -check -diff -recursive examples
	diff -ru docs .cache/docs || { echo 'docs/ is not up to date: run make generate' >&2; exit 1; }
fi
