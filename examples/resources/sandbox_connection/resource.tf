# The state directory of this user. A connection of your own directory has
# local = { directory = "/var/lib/sandboxes" }.
resource "sandbox_connection" "here" {
  local = {}

  deployment = "airflow-dev"
}

# Sandboxes take its URI. What they can do is known when planning.
output "uri" {
  value = sandbox_connection.here.uri
}

output "can_allow_hostnames" {
  value = sandbox_connection.here.capabilities.allow_hostnames
}
