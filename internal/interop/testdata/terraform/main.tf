# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

terraform {
  required_providers {
    sandbox = { source = "taskowned/sandbox" }
  }
}

variable "instances" {
  type = map(object({
    owner      = optional(string)
    deployment = optional(string)
    lifetime   = optional(string, "1h")
    workdir    = optional(string)
    gpu        = optional(string)
    tags       = optional(map(string))
    network_policy = optional(object({
      block_network         = optional(bool)
      allow_egress_to       = optional(list(string))
      allow_egress_to_cidrs = optional(list(string))
    }))
  }))
}

variable "token" {
  type      = object({ id = string, secret = string })
  sensitive = true
}

resource "sandbox_connection" "modal" {
  modal = { egress_enforcement = "sni" }
}

resource "sandbox_instance" "it" {
  for_each       = var.instances
  connection_uri = sandbox_connection.modal.uri
  owner          = each.value.owner
  deployment     = each.value.deployment
  lifetime       = each.value.lifetime
  workdir        = each.value.workdir
  gpu            = each.value.gpu
  tags           = each.value.tags
  network_policy = each.value.network_policy
}

# Without an owner there is no attachment.
output "made" {
  value = { for name, it in sandbox_instance.it : name => merge({ handle = it.handle }, it.attachment) }
}

output "airflow_connection" {
  value = provider::sandbox::airflow_connection(sandbox_connection.modal.uri, {
    token_id     = var.token.id
    token_secret = var.token.secret
  })
  sensitive = true
}
