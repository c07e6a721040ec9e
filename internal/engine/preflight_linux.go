// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

const installRemedy = "apt-get install bubblewrap (or dnf, apk, pacman, zypper)"

// nobody is the uid and gid that Preflight lends when the caller is root.
const nobody = 65534

// Preflight runs the real chain once, with `true`. Its error says what the host
// lacks and the exact remedy. When the caller is root, uid and gid 65534 are
// lent to the command.
func (e *Engine) Preflight(ctx context.Context) error {
	spec := Spec{Argv: []string{"true"}}
	if os.Geteuid() == 0 {
		spec.HostUID, spec.HostGID = nobody, nobody
	}
	p, err := e.Start(spec)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, p.Kill)
	defer stop()
	exit, err := p.Wait()
	switch {
	case ctx.Err() != nil && exit.Killed:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%w: %w; %s", ErrUnavailable, err, remedy(readHost()))
	case exit.Killed || exit.Code != 0:
		return fmt.Errorf("%w: `true` ended with %+v", ErrUnavailable, exit)
	}
	return nil
}

// explainStart puts what to do next to an error of starting bubblewrap.
func explainStart(err error) error {
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("%w: start bubblewrap: %w; run fewer commands at once, or raise the limit (ulimit -n)", ErrExhausted, err)
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return fmt.Errorf("%w: start bubblewrap: %w; run fewer commands at once, or raise the limit of processes (ulimit -u)", ErrExhausted, err)
	case errors.Is(err, syscall.E2BIG):
		return fmt.Errorf("%w: start bubblewrap: %w; pass less on the command line: use standard input or a file", ErrInvalid, err)
	}
	return fmt.Errorf("%w: start bubblewrap: %w; %s", ErrUnavailable, err, remedy(readHost()))
}

// host is what decides whether a process may make namespaces.
type host struct {
	namespaces   string // user.max_user_namespaces
	unprivileged string // kernel.unprivileged_userns_clone; Debian's and Ubuntu's own
	appArmor     string // kernel.apparmor_restrict_unprivileged_userns
	container    bool
	root         bool
	program      string // this one
}

func readHost() host {
	setting := func(path string) string {
		content, _ := os.ReadFile("/proc/sys/" + path) // "" where the kernel has no such setting
		return strings.TrimSpace(string(content))
	}
	program, _ := os.Executable()
	return host{
		namespaces:   setting("user/max_user_namespaces"),
		unprivileged: setting("kernel/unprivileged_userns_clone"),
		appArmor:     setting("kernel/apparmor_restrict_unprivileged_userns"),
		container:    exists("/.dockerenv") || exists("/run/.containerenv"),
		root:         os.Geteuid() == 0,
		program:      program,
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// remedy says what to do on a host where isolation does not work, by the most
// likely cause.
func remedy(h host) string {
	switch {
	case h.namespaces == "0":
		return "user namespaces are switched off; allow them: sysctl user.max_user_namespaces=15000"
	case h.container:
		return "this is a container, whose own confinement forbids namespaces; start it with: " +
			"docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined --security-opt apparmor=unconfined"
	case h.unprivileged == "0" && !h.root:
		return "user namespaces are for root only here; allow them: sysctl kernel.unprivileged_userns_clone=1"
	case h.appArmor == "1" && !h.root:
		return "AppArmor keeps user namespaces from programs without a profile; allow them to all: " +
			"sysctl kernel.apparmor_restrict_unprivileged_userns=0, or only to " + h.program + ": give it a profile with `userns,`"
	}
	return "see whether the kernel or a container forbids namespaces: `unshare --user --pid --fork true` must work"
}
