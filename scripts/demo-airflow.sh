#!/bin/sh
# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

# Terraform declares a sandbox, a Dag attaches to it, the janitor cleans up after
# it: with the released Airflow, its server and scheduler included, beside the
# emulator of Modal. Everything happens below .cache/demo-airflow. A run that was
# killed is cleaned up by the next one.
set -eu
cd "$(dirname "$0")/.."
demo=demo-airflow uri=modal:
. scripts/demo-begin.sh
stack=$work/stack
python=$(scripts/venv.sh)
version=$(sed -n 's/^apache-airflow==\([0-9.]*\).*/\1/p' internal/airflow/airflowtest/requirements.txt)

tf() { "$TERRAFORM" -chdir="$stack" "$@"; }
handle() { tf output -json analysis | sed 's/.*"handle":"\([^"]*\)".*/\1/'; }
holder() { "$bin/sandbox" show "$uri" "$(handle)" --output json | sed -n 's/^ *"holder": "\(.*\)",*$/\1/p'; }
clean() {
	end scheduler airflow KILL
	end server airflow KILL
	end emulator bin/emulator TERM
}
# patiently COMMAND...: waits until it succeeds.
patiently() {
	patience=$(($(date +%s) + 120))
	until "$@"; do
		[ "$(date +%s)" -lt "$patience" ] || fail "this did not come: $*"
		sleep 0.3
	done
}

# ---------------------------------------------------------------- Airflow
airflow() { "$python" -m airflow "$@"; }
# api METHOD PATH [BODY]: asks the server about the Dag.
api() {
	curl -sS -f -X "$1" -H "Authorization: Bearer $AIRFLOW_LAPTOP_TOKEN" -H 'Content-Type: application/json' \
		${3:+-d "$3"} "$AIRFLOW__API__BASE_URL/api/v2/dags/attached_agent/dagRuns$2"
}
field() { sed -n "s/.*\"$1\":\"*\([^,\"]*\)\"*[,}].*/\1/p"; }
trigger() { api POST '' "{\"logical_date\": null, \"conf\": {$1}}" | field dag_run_id; }
state() { api GET "/$1/taskInstances/$2" | field state; }
is() { [ "$(state "$1" "$2")" = "$3" ]; }
returned() { api GET "/$1/taskInstances/$2/xcomEntries/return_value" | field value; }
# told RUN TASK WORDS: the line of a task's log that has them.
told() { sed -n "s/.*\($3[^\"]*\)\".*/\1/p" "$AIRFLOW_HOME/logs/dag_id=attached_agent/run_id=$1/task_id=$2/attempt=1.log" | head -n 1; }

mkdir -p "$work"
clean
trap clean EXIT
rm -rf "$stack" "$work/airflow" "$work/janitor"
cp -R examples/airflow "$stack"
mirror
emulate
quietly tf init -input=false -plugin-dir="$work/mirror"

# ---------------------------------------------------------------- 1
say '1. Terraform declares a sandbox for Dags:  terraform apply'
quietly tf apply -input=false -auto-approve
tf output
tf output -json >"$stack/outputs.json"

port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export AIRFLOW_HOME="$work/airflow" AIRFLOW__CORE__DAGS_FOLDER="$stack/dags" AIRFLOW__CORE__LOAD_EXAMPLES=False \
	AIRFLOW__API__HOST=127.0.0.1 AIRFLOW__API__PORT="$port" AIRFLOW__API__BASE_URL="http://127.0.0.1:$port" \
	AIRFLOW__CORE__EXECUTION_API_SERVER_URL="http://127.0.0.1:$port/execution/" \
	AIRFLOW__API_AUTH__JWT_SECRET=for-one-demo-on-this-host-alone-and-long-enough-for-its-algorithm \
	AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS=True AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION=False \
	AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT=0
AIRFLOW_VAR_ANALYSIS=$(tf output -json analysis)
export AIRFLOW_VAR_ANALYSIS
quietly airflow db migrate
quietly airflow dags reserialize
begin server "$python" -m airflow api-server --workers 1
begin scheduler "$python" -m airflow scheduler
patiently curl -s -f -o "$work/token" "$AIRFLOW__API__BASE_URL/auth/token"
AIRFLOW_LAPTOP_TOKEN=$(field access_token <"$work/token")
export AIRFLOW_LAPTOP_TOKEN
cat >"$work/janitor.yaml" <<EOT
mode: enforce
state: file://$work/janitor
airflow: {laptop: {url: "$AIRFLOW__API__BASE_URL", deployment: laptop}}
connections: {demo: {uri: "$uri", airflow: laptop, rules: {stale_holder: enforce}}}
grace: {stale_holder: 5s}
EOT

# ---------------------------------------------------------------- 2
say '2. A Dag run attaches, its agent writes a file, and a task collects it'
run=$(trigger '')
patiently is "$run" collect success
told "$run" agent 'Attached to sandbox'
echo "collected: $(returned "$run" collect | sed 's/\\n$//')"
[ -z "$(holder)" ] || fail "still held by $(holder)"
echo '(nobody holds it now)'

# ---------------------------------------------------------------- 3
say '3. A second run is killed in the middle: kill -9'
killed=$(trigger '"prompt": "echo begun > report.txt; sleep 1000"')
begun() { "$bin/sandbox" exec "$uri" "$(handle)" -- grep -qs begun report.txt; }
patiently begun
kill -9 "$(api GET "/$killed/taskInstances/agent" | field pid)"
patiently is "$killed" agent failed
echo 'Airflow says that the agent has failed, and its claim is left:'
"$bin/sandbox" list "$uri"
next=$(trigger '')
patiently is "$next" agent failed
echo 'So the next run is refused:'
told "$next" agent 'already held'

# ---------------------------------------------------------------- 4
say '4. Is the holder dead? The janitor asks the Airflow that the sandbox is made for:  janitor plan'
quietly janitor sweep --auto-approve # a first look only notes it
condemned() { janitor plan --detailed-exitcode >"$work/plan"; [ $? -eq 10 ]; }
patiently condemned
cat "$work/plan"
say '   It releases the claim, and destroys nothing:  janitor sweep'
janitor sweep --auto-approve
[ -z "$(holder)" ] || fail "still held by $(holder)"

# ---------------------------------------------------------------- 5
say '5. A third run attaches'
run=$(trigger '')
patiently is "$run" collect success
told "$run" agent 'Attached to sandbox'

say '6. And Terraform, which has seen nothing of it, ends what it made:  terraform destroy'
quietly tf plan -input=false -detailed-exitcode
echo '(a plan before it is empty)'
quietly tf destroy -input=false -auto-approve
grep 'Destroy complete' "$work/log"
"$bin/sandbox" list "$uri" --output json | grep '"handle"' && fail 'something is left'

say 'Summary'
cat <<EOT
  declared   1 sandbox, by Terraform; no account needed
  attached   2 runs of a Dag under Airflow $version, with an agent that wrote and a task that collected
  killed     1 run; its claim kept 1 other out
  released   that claim, on Airflow's word, and nothing else
  left       nothing; logs and state are in .cache/demo-airflow
EOT
