terraform {
  required_providers {
    sandbox = {
      source = "taskowned/sandbox"
    }
  }
}

# Nothing to configure for sandboxes on this host.
provider "sandbox" {}

resource "sandbox_instance" "quick" {
  connection_uri = "local:"
  lifetime       = "1h"
}
