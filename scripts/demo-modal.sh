#!/bin/sh
# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

# What Modal brings, on the emulator: an image, a policy and an owned sandbox, its
# renewal by rotation, a task that an apply does not kill, and the sweep of what
# was left. Everything happens below .cache/demo-modal. The emulator forgets all
# when it ends; a run that was killed is cleaned up by the next one.
set -eu
cd "$(dirname "$0")/.."
demo=demo-modal uri=modal:
. scripts/demo-begin.sh
export TF_VAR_patience=2s

tf() { "$TERRAFORM" -chdir="$work/stack" "$@"; }
handle() { tf output -json attachment | sed 's/.*"handle":"\([^"]*\)".*/\1/'; }
# unbox cuts the frame that Terraform draws around what it says.
unbox() { sed -n "s/^[│ ]*//; /$1/,\$p" "$work/log" | sed '/^$/d; /^╵/d; /^ *with /d; /^ *on .*line/d; /^ *[0-9]*: /d'; }

# ---------------------------------------------------------------- before
clean() {
	end task demo-modal/attach TERM
	end emulator bin/emulator TERM
}
mkdir -p "$work"
clean
trap clean EXIT
rm -rf "$work/stack" "$work/janitor" "$work/task"
mkdir -p "$work/stack"
cp examples/modal/main.tf "$work/stack/"
go build -o "$work/attach" ./scripts/attach
cat >"$work/janitor.yaml" <<EOT
mode: enforce
state: file://$work/janitor
connections: {demo: {uri: "$uri"}}
grace: {expired: 1s, failed_teardown: 1s, retired: 1s}
EOT

mkfifo "$work/task"
mirror
emulate
quietly tf init -input=false -plugin-dir="$work/mirror"

# ---------------------------------------------------------------- 1
say '1. Declare an image, a policy and a sandbox with an owner:  terraform apply'
quietly tf apply -input=false -auto-approve
tf output
quietly tf plan -input=false -detailed-exitcode
echo '(a second plan is empty)'
first=$(handle)

say '2. Use it:  sandbox exec'
"$bin/sandbox" exec "$uri" "$first" -- sh -c '
	echo "I am uid $(id -u) in $PWD" | tee report.txt
	route=$(timeout 2 bash -c ": </dev/tcp/192.0.2.1/443" 2>&1 | sed -n "s/^bash: connect: //p")
	echo "network: ${route:-OPEN}"' | tee "$work/inside"
grep -q 'is unreachable$' "$work/inside" || fail 'the sandbox leaks, or its command did not run'

# ---------------------------------------------------------------- 3
say '3. Its end comes near. Modal cannot move it, so an apply makes the next one'
quietly tf apply -input=false -auto-approve -var renew_before=11h59m59.9s
second=$(handle)
[ "$first" != "$second" ] || fail 'nothing was rotated'
echo "$first is retired, $second has its place:"
"$bin/sandbox" list "$uri"

# ---------------------------------------------------------------- 4
say '4. A task attaches, and an apply that would replace the sandbox does not kill it'
begin task sh -c 'exec "$@" >"$0"' "$work/task" "$work/attach" "$uri" "$second" terraform:prod/analysis etl/manual__2026-11-30/load
head -n 1 "$work/task" | sed 's|^|etl/manual__2026-11-30/load is |'
quietly tf plan -input=false -var renew_before=11h59m59.9s -detailed-exitcode
echo '(a renewal that is due waits for it: the plan is empty)'
if tf apply -input=false -auto-approve -var workdir=/data >"$work/log" 2>&1; then
	fail 'a held sandbox was replaced'
fi
unbox 'Error:'
"$bin/sandbox" exec "$uri" "$second" -- true || fail 'the held sandbox is gone'
end task demo-modal/attach TERM
echo 'The task lets go. The same apply:'
quietly tf apply -input=false -auto-approve -var workdir=/data
grep 'Apply complete' "$work/log"
third=$(handle)
handles | grep -qxF -e "$second" && fail 'the sandbox that was let go is left'

# ---------------------------------------------------------------- 5
say '5. What is left, and why may it go?  janitor sweep, twice: for a whole grace nobody must hold it'
quietly janitor sweep --auto-approve
patience=$(($(date +%s) + 30))
until [ "$(count reclaim)" -ge 1 ]; do [ "$(date +%s)" -lt "$patience" ] || fail "$(janitor plan)"; done
janitor plan
janitor sweep --auto-approve
[ "$(handles)" = "$third" ] || fail "these are left: $(handles)"

# ---------------------------------------------------------------- 6
say '6. The sandbox in use stands, and goes when it is told to:  terraform destroy'
"$bin/sandbox" list "$uri"
quietly tf destroy -input=false -auto-approve
grep 'Destroy complete' "$work/log"
[ -z "$(handles)" ] || fail "these are left: $(handles)"

say 'Summary'
cat <<EOT
  declared   1 image, 1 policy, 1 sandbox that Dags attach to; no account needed
  renewed    by rotation: a new handle, the old sandbox retired
  held       1 apply waited, failed and destroyed nothing; the task ran on
  reclaimed  the retired one, with its evidence; the one in use was never touched
  left       nothing; logs and state are in .cache/demo-modal
EOT
