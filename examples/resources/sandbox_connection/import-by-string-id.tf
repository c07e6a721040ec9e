import {
  to = sandbox_connection.here
  id = "local:?deployment=airflow-dev"
}
