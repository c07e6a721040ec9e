#!/bin/sh
# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

# usage: acceptance.sh COMMAND...
# Runs COMMAND, go test or what stands for it, with the environment in which
# acceptance tests run with a real Terraform binary.
set -eu
cd "$(dirname "$0")/.."
TF_ACC=1
TF_ACC_TERRAFORM_PATH=$(scripts/terraform.sh)
# Terraform and OpenTofu look for a provider under different hosts. Each names
# its own when it is asked which providers a configuration needs.
scratch=$(mktemp -d)
cat >"$scratch/main.tf" <<'EOT'
terraform {
  required_providers { sandbox = { source = "taskowned/sandbox" } }
}
EOT
TF_ACC_PROVIDER_HOST=$("$TF_ACC_TERRAFORM_PATH" -chdir="$scratch" providers | sed -n 's|.*provider\[\([^/]*\)/.*|\1|p')
rm -r "$scratch"
export TF_ACC TF_ACC_TERRAFORM_PATH TF_ACC_PROVIDER_HOST
"$TF_ACC_TERRAFORM_PATH" version
exec "$@"
