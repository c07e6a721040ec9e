# Lives twelve hours at a time, and an apply in the last three renews it.
resource "sandbox_instance" "analysis" {
  connection_uri = "local:"
  lifetime       = "12h"
  renew_before   = "3h"

  # A colon before any slash: it can never be taken for a Dag run. For one run,
  # owner = provider::sandbox::dag_run_owner("etl", "manual__2026-10-05T00:00:00+00:00")
  owner = "terraform:prod/analysis"

  env = {
    LANG = "C.UTF-8"
  }
  tags = {
    team = "research"
  }

  timeouts = {
    delete = "15m"
  }
}

output "handle" {
  value = sandbox_instance.analysis.handle
}

output "expires_at" {
  value = sandbox_instance.analysis.expires_at
}
