#!/bin/sh
# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

# Prints the path of a Terraform: $TERRAFORM when it is set, else terraform or
# tofu on PATH, else that of the pinned OpenTofu, which is built once through the Go module proxy.
set -eu
cd "$(dirname "$0")/.."
if [ -n "${TERRAFORM-}" ]; then command -v "$TERRAFORM"; exit; fi
if command -v terraform || command -v tofu; then exit; fi
"${MAKE:-make}" --no-print-directory "$PWD/.cache/bin/tofu" >&2
printf '%s\n' "$PWD/.cache/bin/tofu"
