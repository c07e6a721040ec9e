# What Airflow must find in the tag airflow_network, to compare with.
output "tag" {
  value = provider::sandbox::network_policy_tag({ allow_egress_to = ["packages.example.org"] })
}

# Left out means denied.
output "deny_everything" {
  value = provider::sandbox::network_policy_tag({})
}
