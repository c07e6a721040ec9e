resource "sandbox_instance" "analysis" {
  connection_uri = "local:"
  lifetime       = "1h"
  owner          = "terraform:prod/analysis"
}

# As it is now: its holder and its state are no attributes of the resource,
# since they change from one minute to the next.
data "sandbox_instance" "analysis" {
  connection_uri = "local:"
  handle         = sandbox_instance.analysis.handle
}

output "holder" {
  value = data.sandbox_instance.analysis.holder
}
