variable "modal_token_id" {
  default = "ak-example"
}

variable "modal_token_secret" {
  default   = "as-example"
  sensitive = true
}

# As AIRFLOW_CONN_MODAL_DEFAULT, say in a Kubernetes secret, it lets Airflow's
# ModalSandboxBackend reach what Terraform makes at modal://main/airflow-sandbox.
output "airflow_conn_modal_default" {
  value = provider::sandbox::airflow_connection("modal://main/airflow-sandbox", {
    token_id     = var.modal_token_id
    token_secret = var.modal_token_secret
  }).json
  sensitive = true
}
