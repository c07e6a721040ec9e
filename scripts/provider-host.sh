#!/bin/sh
# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

# usage: provider-host.sh TERRAFORM
# Prints the host under which TERRAFORM looks for a provider whose address names
# none. Terraform and OpenTofu differ; each tells its own when it is asked which
# providers a configuration needs.
set -eu
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
cat >"$scratch/main.tf" <<'EOT'
terraform {
  required_providers { sandbox = { source = "taskowned/sandbox" } }
}
EOT
"$1" -chdir="$scratch" providers | sed -n 's|.*provider\[\([^/]*\)/.*|\1|p'
