# A sandbox at Modal to which the Dag in dags/ attaches. The token is taken from
# MODAL_TOKEN_ID and MODAL_TOKEN_SECRET, or from Modal's own profile.

terraform {
  required_providers {
    sandbox = {
      source = "taskowned/sandbox"
    }
  }
}

resource "sandbox_connection" "modal" {
  deployment = "laptop" # the janitor believes this Airflow, and no other, about what is made here
  modal      = {}       # the app airflow-sandbox of the environment main, as in Airflow
}

resource "sandbox_instance" "analysis" {
  connection_uri = sandbox_connection.modal.uri
  owner          = "terraform:laptop/analysis" # no Dag id has a colon, so this is never taken for a run
  lifetime       = "12h"
  renew_before   = "3h"
}

# What a Dag needs: handle, owner, workdir and expires_at.
output "analysis" {
  value = sandbox_instance.analysis.attachment
}
