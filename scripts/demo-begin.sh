# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

# How every demo begins, which reads this with `.` once it has said its name in
# $demo and its connection in $uri: with words for people, with the programs of bin,
# and with a place of its own, .cache/$demo.
bin=$PWD/bin
work=$PWD/.cache/$demo
unset TF_CLI_CONFIG_FILE
export TF_IN_AUTOMATION=1 TF_CLI_ARGS=-no-color
trap 'exit 130' INT # as a trap of EXIT wants it
trap 'exit 143' TERM

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
fail() {
	printf '\n%s: %s\n' "$demo" "$*" >&2
	exit 1
}
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "this failed: $*"; }; }
janitor() { "$bin/janitor" "$@" --config "$work/janitor.yaml" --log-level warn; }
# count NAME: how many things the janitor's plan counts as NAME.
count() { janitor plan --output json | sed -n "s/^ *\"$1\": \([0-9]*\).*/\1/p" | head -n 1; }
handles() { "$bin/sandbox" list "$uri" --output json | sed -n 's/^ *"handle": "\(.*\)",*$/\1/p'; }

# begin NAME COMMAND...: starts a program in a process group of its own.
begin() {
	name=$1
	shift
	setsid "$@" >"$work/$name.log" 2>&1 &
	echo $! >"$work/$name.pid"
}
# end NAME WORD SIGNAL: ends what an earlier step, or an earlier run, has begun.
end() {
	pid=$(cat "$work/$1.pid" 2>/dev/null) || return 0
	rm -f "$work/$1.pid"
	if tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q "$2"; then
		kill "-$3" "-$pid" # the whole group
		while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
	fi
}

# mirror: a mirror with this build of the provider, at $work/mirror.
mirror() {
	host=$(scripts/provider-host.sh "$TERRAFORM")
	plugin=$work/mirror/$host/taskowned/sandbox/0.1.0/$(go env GOOS)_$(go env GOARCH)
	rm -rf "$work/mirror"
	mkdir -p "$plugin"
	cp "$bin/terraform-provider-sandbox" "$plugin/terraform-provider-sandbox_v0.1.0"
}

# emulate: the emulator of Modal, to which everything from here on speaks.
emulate() {
	rm -f "$work/emulator.env"
	mkfifo "$work/emulator.env"
	begin emulator sh -c 'exec "$0" modal --poll-lag 0s >"$1"' "$bin/emulator" "$work/emulator.env"
	variables=$(sed '/no_proxy/q' "$work/emulator.env")
	# Without these variables everything below would happen in a real account.
	case $variables in
	*MODAL_SERVER_URL=http://127.0.0.1:*no_proxy=*) eval "$variables" ;;
	*) fail "$(cat "$work/emulator.log")" ;;
	esac
}
