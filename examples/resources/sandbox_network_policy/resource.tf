# Without arguments it denies everything.
resource "sandbox_network_policy" "closed" {}

# Some hosts and ranges, and nothing else. Not every connection can enforce
# this: one that cannot refuses it when planning.
resource "sandbox_network_policy" "registry" {
  allow_egress_to       = ["packages.example.org", "*.cdn.example.org"]
  allow_egress_to_cidrs = ["203.0.113.0/24"]
}

# The whole resource is a network_policy.
resource "sandbox_instance" "closed" {
  connection_uri = "local:"
  lifetime       = "1h"
  network_policy = sandbox_network_policy.closed
}

# Exactly what Airflow finds in the tag airflow_network.
output "tag" {
  value = sandbox_network_policy.registry.tag
}
