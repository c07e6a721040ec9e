#!/bin/sh
# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0

# Makes sure that bubblewrap is there. Where packages may be installed, it
# installs it; elsewhere it prints the command that somebody else must run.
set -eu
if command -v bwrap >/dev/null; then exit; fi

if command -v apt-get >/dev/null; then install='apt-get update && apt-get install --yes bubblewrap'
elif command -v dnf >/dev/null; then install='dnf install --assumeyes bubblewrap'
elif command -v yum >/dev/null; then install='yum install --assumeyes bubblewrap'
elif command -v apk >/dev/null; then install='apk add bubblewrap'
elif command -v pacman >/dev/null; then install='pacman --sync --refresh --noconfirm bubblewrap'
elif command -v zypper >/dev/null; then install='zypper --non-interactive install bubblewrap'
else
	echo 'bubblewrap (bwrap) is missing: install it from https://github.com/containers/bubblewrap' >&2
	exit 1
fi

if [ "$(id -u)" -eq 0 ]; then as_root=
elif sudo -n true 2>/dev/null; then as_root='sudo -n'
else
	printf 'bubblewrap (bwrap) is missing, and installing it needs root. Run:\n\n    sudo sh -c "%s"\n\n' "$install" >&2
	exit 1
fi
echo 'bubblewrap is missing: installing it' >&2
DEBIAN_FRONTEND=noninteractive $as_root sh -c "$install" >&2
command -v bwrap >/dev/null
