resource "sandbox_connection" "here" {
  local = {}
}

# What ends within the hour, counted from when this is planned.
data "sandbox_instances" "ending" {
  connection_uri = sandbox_connection.here.uri
  state          = "running"
  expires_before = timeadd(plantimestamp(), "1h")

  # The place must be made before it can be listed.
  depends_on = [sandbox_connection.here]
}

output "ending" {
  value = { for i in data.sandbox_instances.ending.instances : i.handle => i.owner }
}
