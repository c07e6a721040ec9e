#!/bin/sh
# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

# What Modal brings, on the emulator: an image, a policy and an owned sandbox, its
# renewal by rotation, a task that an apply does not kill, and the sweep of what
# was left. Everything happens below .cache/demo-modal. The emulator forgets all
# when it ends; a run that was killed is cleaned up by the next one.
set -eu
cd "$(dirname "$0")/.."
bin=$PWD/bin
work=$PWD/.cache/demo-modal
uri=modal:
unset TF_CLI_CONFIG_FILE
export TF_VAR_patience=2s TF_IN_AUTOMATION=1 TF_CLI_ARGS=-no-color

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
fail() {
	printf '\ndemo-modal: %s\n' "$*" >&2
	exit 1
}
tf() { "$TERRAFORM" -chdir="$work/stack" "$@"; }
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "this failed: $*"; }; }
handle() { tf output -json attachment | sed 's/.*"handle":"\([^"]*\)".*/\1/'; }
handles() { "$bin/sandbox" list "$uri" --output json | sed -n 's/^ *"handle": "\(.*\)",*$/\1/p'; }
janitor() { "$bin/janitor" "$@" --config "$work/janitor.yaml" --log-level warn; }
count() { janitor plan --output json | sed -n "s/^ *\"$1\": \([0-9]*\).*/\1/p" | head -n 1; }
# unbox cuts the frame that Terraform draws around what it says.
unbox() { sed -n "s/^[│ ]*//; /$1/,\$p" "$work/log" | sed '/^$/d; /^╵/d; /^ *with /d; /^ *on .*line/d; /^ *[0-9]*: /d'; }

# ---------------------------------------------------------------- before
# end NAME: ends the process that an earlier step, or an earlier run, has started.
end() {
	pid=$(cat "$work/$1.pid" 2>/dev/null) || return 0
	rm -f "$work/$1.pid"
	if grep -qs "$2" "/proc/$pid/cmdline"; then
		kill "$pid"
		while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
	fi
}
clean() {
	end task demo-modal/attach
	end emulator bin/emulator
}
mkdir -p "$work"
clean
trap clean EXIT
rm -rf "$work/stack" "$work/janitor" "$work/mirror" "$work/emulator.env"
mkdir -p "$work/stack"
host=$(scripts/provider-host.sh "$TERRAFORM")
plugin=$work/mirror/$host/taskowned/sandbox/0.1.0/$(go env GOOS)_$(go env GOARCH)
mkdir -p "$plugin"
cp "$bin/terraform-provider-sandbox" "$plugin/terraform-provider-sandbox_v0.1.0"
cp examples/modal/main.tf "$work/stack/"
go build -o "$work/attach" ./scripts/attach
cat >"$work/janitor.yaml" <<EOT
mode: enforce
state: file://$work/janitor
connections: {demo: {uri: "$uri"}}
grace: {expired: 1s, failed_teardown: 1s, retired: 1s}
EOT

rm -f "$work/emulator.env" "$work/task"
mkfifo "$work/emulator.env" "$work/task"
"$bin/emulator" modal --poll-lag 0s >"$work/emulator.env" 2>"$work/emulator.log" &
echo $! >"$work/emulator.pid"
variables=$(sed '/no_proxy/q' "$work/emulator.env")
# Without these variables everything below would happen in a real account.
case $variables in
*MODAL_SERVER_URL=http://127.0.0.1:*no_proxy=*) eval "$variables" ;;
*) fail "$(cat "$work/emulator.log")" ;;
esac
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
"$work/attach" "$uri" "$second" terraform:prod/analysis etl/manual__2026-11-30/load >"$work/task" &
echo $! >"$work/task.pid"
head -n 1 "$work/task" | sed 's|^|etl/manual__2026-11-30/load is |'
quietly tf plan -input=false -var renew_before=11h59m59.9s -detailed-exitcode
echo '(a renewal that is due waits for it: the plan is empty)'
if tf apply -input=false -auto-approve -var workdir=/data >"$work/log" 2>&1; then
	fail 'a held sandbox was replaced'
fi
unbox 'Error:'
"$bin/sandbox" exec "$uri" "$second" -- true || fail 'the held sandbox is gone'
end task demo-modal/attach
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
