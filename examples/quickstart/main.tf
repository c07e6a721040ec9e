# The whole path on one Linux machine, without an account: a connection, a
# policy and a sandbox that belongs to a task.

terraform {
  required_providers {
    sandbox = {
      source = "taskowned/sandbox"
    }
  }
}

variable "state_directory" {
  description = "Absolute directory in which the sandboxes live. Null: the default of this user."
  type        = string
  default     = null
}

resource "sandbox_connection" "here" {
  local = {
    directory = var.state_directory
  }
}

# An empty policy denies everything.
resource "sandbox_network_policy" "closed" {}

resource "sandbox_instance" "analysis" {
  connection_uri = sandbox_connection.here.uri
  network_policy = sandbox_network_policy.closed
  owner          = "terraform:quickstart/analysis"
  lifetime       = "1h"
  renew_before   = "15m"

  tags = {
    team = "research"
  }
}

output "connection_uri" {
  description = "Where the sandbox lives; give it to `sandbox` and `janitor`."
  value       = sandbox_connection.here.uri
}

output "handle" {
  description = "The sandbox's name within the connection."
  value       = sandbox_instance.analysis.handle
}

output "expires_at" {
  description = "When its lifetime ends unless an apply renews it."
  value       = sandbox_instance.analysis.expires_at
}
