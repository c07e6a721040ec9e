# Only the tasks of this run may attach.
resource "sandbox_instance" "one_run" {
  connection_uri = "local:"
  lifetime       = "1h"
  owner          = provider::sandbox::dag_run_owner("etl", "manual__2026-10-05T00:00:00+00:00")
}
