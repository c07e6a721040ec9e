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
TF_ACC_PROVIDER_HOST=$(scripts/provider-host.sh "$TF_ACC_TERRAFORM_PATH")
export TF_ACC TF_ACC_TERRAFORM_PATH TF_ACC_PROVIDER_HOST
"$TF_ACC_TERRAFORM_PATH" version >&2
exec "$@"
