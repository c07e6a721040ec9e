// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package engine runs one command in isolation on this Linux host: one
// bubblewrap per command, started as the first process of a PID namespace of
// its own, so that ending that one process ends everything the command ever
// started. There is no way to run a command without isolation: what cannot be
// isolated is an error.
//
// It is isolation for development, not a boundary between hostile tenants: a
// hole in the kernel is a hole in it. Within the kernel's word, a command
//
//   - runs as an unprivileged user of the host, without capabilities, and
//     cannot gain any;
//   - writes nowhere but to Spec.Work, and to a /tmp (256 MiB), /run (16 MiB)
//     and /dev/shm (64 MiB) that are its own and vanish with it;
//   - sees of the host what it needs to run programs (/usr and a few public
//     files of /etc, or the entries of Spec.Root), and no process, environment,
//     descriptor or argument of it. The path of Spec.Work is not a secret from
//     the command: the kernel shows it in /proc/self/mountinfo;
//   - reaches no network at all, unless Spec.Network shares the host's whole
//     one, loopback and abstract sockets included;
//   - is gone, with all that it started, when Wait returns, and also when the
//     process that started it dies in any way.
//
// Limits of memory, CPU, processes and disk are not set.
package engine

import (
	"errors"
	"io"
)

// Spec is one command and the room it runs in.
type Spec struct {
	// Argv is the command and its arguments. A name without a slash is looked
	// up in PATH inside. No string may hold a NUL byte or exceed 131071 bytes,
	// the kernel's limit; with three words for each variable of Env, there is
	// room for nearly 9000 words, what shows Root included. Other users of the host can see Argv in `ps`.
	Argv []string
	// Dir is where the command starts: an absolute path inside. Empty: Workdir.
	Dir string
	// Env is the whole environment, with these defaults where it has none:
	// PATH, HOME (Workdir), TMPDIR (/tmp), USER (sandbox), LANG (C.UTF-8).
	// bubblewrap adds PWD. Nothing of the caller's environment is passed on. At
	// most 2000 variables; CheckEnv says what else is refused.
	Env map[string]string

	// Root is the host directory that serves as root file system, read-only.
	// It is not the host's own root, and neither holds Work nor lies in it.
	// Empty: the host's own /usr and what belongs to it.
	Root string
	// Work is the host directory that Workdir shows: the only place the command
	// can write to that outlasts it. What HostUID may do in it is for the
	// caller to arrange. Empty: Workdir is a tmpfs that vanishes with the command.
	Work string
	// Workdir is where Work appears: an absolute path inside that is not part
	// of the system and holds no colon. With Root it may be in a directory of
	// the image, which then shows beside it. Empty: DefaultWorkdir. CheckWorkdir
	// says what is refused.
	Workdir string

	// Network shares the host's network. The zero value cuts it: the command
	// has a loopback of its own, and nothing else.
	Network bool

	// HostUID and HostGID are whose files and processes these are as the host
	// sees it; inside, the command is always uid and gid 1000. They are
	// required, and must not be 0, when the caller is root. Any other caller
	// can only lend its own, with its supplementary groups, and leaves them 0.
	HostUID, HostGID int

	// Stdin is read until the command ends; a Read that blocks then is left
	// behind. Nil: empty.
	Stdin io.Reader
	// Stdout and Stderr take the command's output as it comes; a writer that
	// does not return holds the command up, as a full pipe does. If they are
	// the same comparable value, one goroutine at a time writes to it. Nil:
	// thrown away.
	Stdout, Stderr io.Writer
}

// DefaultWorkdir is the Workdir of a Spec that names none.
const DefaultWorkdir = "/workspace"

// Exit is how a command ended that was really started.
type Exit struct {
	// Code is the command's own exit code, or 128+n when signal n ended it;
	// bubblewrap does not tell the two apart. It is -1 when Killed.
	Code int
	// Killed: the whole tree was ended from outside before the command was
	// done, by Kill or, when nobody called it, by somebody else on the host,
	// such as the kernel when it is out of memory.
	Killed bool
}

// The classes of error, tested with errors.Is.
var (
	// ErrInvalid: the Spec itself is wrong; nothing was started.
	ErrInvalid = errors.New("invalid command")
	// ErrUnavailable: this host, as it is set up, cannot isolate a command. The
	// text says what to do.
	ErrUnavailable = errors.New("commands cannot be isolated on this host")
	// ErrExhausted: the host has no descriptor, process or memory left for one
	// more command; it may work later.
	ErrExhausted = errors.New("the host has no room for another command")
	// ErrNotRun: bubblewrap could not set the room up or execute Argv[0]; the
	// command never ran. The text holds bubblewrap's own words.
	ErrNotRun = errors.New("the command was not run")
	// ErrProgram is the ErrNotRun whose reason is Argv[0]: it cannot be
	// executed. It is fs.ErrNotExist as well when there is no such program.
	ErrProgram = errors.New("the program cannot be executed")
	// ErrStream: the command ran and ended as Exit says, but not all of its input
	// or output was carried: a reader or writer failed, or a writer held on.
	ErrStream = errors.New("the command's input or output was not carried whole")
)
