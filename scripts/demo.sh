#!/bin/sh
# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

# The whole path on this machine: declare a sandbox with Terraform, run a command
# in it, leave a mess beside it, and let the janitor reclaim exactly that mess.
# Everything happens below .cache/demo. A run that was killed is cleaned up by the
# next one, with the same tools.
set -eu
cd "$(dirname "$0")/.."
demo=demo
state=$PWD/.cache/demo/sandboxes
uri=local://$state
. scripts/demo-begin.sh
export TF_VAR_state_directory="$state"

tf() {
	directory=$1
	shift
	"$TERRAFORM" -chdir="$work/$directory" "$@"
}
sandbox() { "$bin/sandbox" "$@"; }
patient() { [ "$(date +%s)" -lt "$patience" ] || fail "the janitor is not done: $(janitor plan)"; }

# prepare DIRECTORY: a working directory of Terraform, ready for this build of
# the provider. The lock file of an earlier build would refuse this one.
prepare() {
	rm -rf "$work/$1/.terraform" "$work/$1/.terraform.lock.hcl"
	quietly tf "$1" init -input=false -plugin-dir="$work/mirror"
}

# ---------------------------------------------------------------- before
mkdir -p "$work/quickstart" "$work/abandoned"
mirror
cp examples/quickstart/main.tf "$work/quickstart/"
cat >"$work/abandoned/main.tf" <<'EOT'
terraform {
  required_providers { sandbox = { source = "taskowned/sandbox" } }
}
variable "state_directory" { type = string }
locals { uri = "local://${var.state_directory}" }

resource "sandbox_instance" "expired" {
  connection_uri = local.uri
  owner          = "terraform:demo/expired"
  lifetime       = "1s"
}
resource "sandbox_instance" "stuck" {
  connection_uri = local.uri
  owner          = "terraform:demo/stuck"
  lifetime       = "1h"
  timeouts       = { delete = "1s" }
}
output "stuck" { value = sandbox_instance.stuck.handle }
EOT
cat >"$work/janitor.yaml" <<EOT
mode: enforce
state: file://$work/janitor
connections:
  demo: {uri: "$uri", rules: {orphaned_workspace: enforce}}
grace: {expired: 1s, failed_teardown: 1s, orphaned_workspace: 1s}
EOT
prepare quickstart
prepare abandoned

# ---------------------------------------------------------------- 1
say '1. Declare a sandbox:  terraform apply'
quietly tf quickstart apply -input=false -auto-approve
tf quickstart output
quietly tf quickstart plan -input=false -detailed-exitcode
echo '(a second plan is empty)'
healthy=$(tf quickstart output -raw handle)

# ---------------------------------------------------------------- 2
say '2. Use it, and try to leave it:  sandbox exec'
sandbox exec "$uri" "$healthy" -- sh -c '
	echo "I am uid $(id -u) in $PWD on $(hostname)" | tee report.txt
	route=$(timeout 2 bash -c ": </dev/tcp/192.0.2.1/443" 2>&1 | sed -n "s/^bash: connect: //p")
	echo "network:  ${route:-OPEN}"
	if touch /usr/escaped 2>/dev/null
	then echo "outside:  WRITTEN"; else echo "outside:  read-only"; fi
	if test -e "$1"
	then echo "the host: VISIBLE"; else echo "the host: out of sight"; fi
' sh "$work" | tee "$work/inside"
[ "$(grep -cE 'is unreachable$|read-only$|out of sight$' "$work/inside")" -eq 3 ] || fail 'the sandbox leaks, or its command did not run'
sandbox cp "$uri" "$healthy:/workspace/report.txt" - >/dev/null

# ---------------------------------------------------------------- 3
say '3. Leave a mess beside it'
quietly tf abandoned apply -input=false -auto-approve
stuck=$(tf abandoned output -raw stuck)
echo '* a sandbox that expired, whose Terraform state is lost'

# A command whose supervisor hangs keeps its sandbox from being torn down.
"$bin/sandbox" exec "$uri" "$stuck" --timeout 10m -- sh -c 'touch started; sleep 600' >/dev/null 2>&1 &
hung=$!
until [ -e "$state/sandboxes/$stuck/work/started" ]; do
	kill -0 "$hung" || fail 'the command in the sandbox ended too early'
done
kill -STOP "$hung"
if tf abandoned destroy -input=false -auto-approve -target=sandbox_instance.stuck >"$work/log" 2>&1; then
	fail 'a teardown was meant to fail'
fi
kill -KILL "$hung"
rm -f "$work/abandoned/terraform.tfstate"*
echo '* a sandbox whose teardown failed half-way, because a command in it hung'

mkdir -p "$state/staging/killed-create/work"
echo '* a workspace that a killed create left behind'

# ---------------------------------------------------------------- 4
say '4. What would the janitor reclaim, and why?  janitor plan'
patience=$(($(date +%s) + 30))
until [ "$(count reclaim)" -ge 2 ]; do patient; done
janitor plan

say '5. Reclaim it:  janitor sweep, twice, for the workspace has no date of its own and needs two looks'
janitor sweep --auto-approve
while [ "$(count later)" -gt 0 ] || [ "$(count reclaim)" -gt 0 ]; do
	patient
	[ "$(count reclaim)" -eq 0 ] || janitor sweep --auto-approve
done
[ -z "$(ls "$state/staging" "$state/trash" | grep -v :)" ] || fail 'a workspace was left'
[ "$(handles)" = "$healthy" ] || fail "these are left: $(handles)"

# ---------------------------------------------------------------- 6
say '6. The healthy one stands:  sandbox list'
sandbox list "$uri"
sandbox exec "$uri" "$healthy" -- cat report.txt

say '7. And goes when it is told to:  terraform destroy'
quietly tf quickstart destroy -input=false -auto-approve
grep 'Destroy complete' "$work/log"
[ -z "$(handles)" ] || fail "these are left: $(handles)"

say 'Summary'
cat <<EOT
  declared    1 sandbox, network cut, host read-only, no account needed
  messed up   1 expired, 1 half torn down, 1 orphaned workspace
  reclaimed   3, each with its evidence; the healthy one was never touched
  left        nothing; logs and state are in .cache/demo
EOT
