# By URI: local: or local:///absolute/dir, with settings as in local:?deployment=NAME
terraform import sandbox_connection.here 'local:?deployment=airflow-dev'
