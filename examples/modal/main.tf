# A sandbox at Modal that stands for days and that Dags attach to. The token is
# taken from MODAL_TOKEN_ID and MODAL_TOKEN_SECRET, or from Modal's own profile.

terraform {
  required_providers {
    sandbox = {
      source = "taskowned/sandbox"
    }
  }
}

variable "renew_before" {
  description = "An apply this long before the end makes the next sandbox: at least the time between two applies."
  type        = string
  default     = "3h"
}

variable "workdir" {
  description = "Where commands start. Another one replaces the sandbox."
  type        = string
  default     = "/workspace"
}

variable "patience" {
  description = "How long a destroy waits for the task that holds the sandbox."
  type        = string
  default     = "30m"
}

resource "sandbox_connection" "modal" {
  modal = {
    app_name           = "airflow-sandbox"
    egress_enforcement = "sni"
  }
}

resource "sandbox_image" "analysis" {
  connection_uri      = sandbox_connection.modal.uri
  from                = "python:3.12-slim"
  dockerfile_commands = ["RUN pip install pandas pyarrow"]
}

resource "sandbox_network_policy" "registry" {
  allow_egress_to = ["packages.example.org"]
}

resource "sandbox_instance" "analysis" {
  connection_uri = sandbox_connection.modal.uri
  image          = sandbox_image.analysis.reference
  network_policy = sandbox_network_policy.registry
  owner          = "terraform:prod/analysis"
  workdir        = var.workdir
  lifetime       = "12h"
  renew_before   = var.renew_before

  timeouts = {
    delete = var.patience
  }

  # The next sandbox is made before this one is destroyed: an image that does
  # not build then costs none.
  lifecycle {
    create_before_destroy = true
  }
}

output "attachment" {
  description = "What a Dag needs: SandboxToolset(attach_to=handle, owner=owner)."
  value       = sandbox_instance.analysis.attachment
}
