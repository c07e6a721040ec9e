// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// launch is one bubblewrap about to be started: all that decides how well its
// command is isolated.
type launch struct {
	bubblewrap string
	line       []string // its command line before argv, which everybody on the host and inside can see
	options    []string // its other options, which travel through a descriptor
	data       []string // contents of the descriptors from firstDataFD on
	argv       []string
	env        []string // of bubblewrap itself, which /proc/1/environ shows inside
	attributes *syscall.SysProcAttr
	bound      []string // directories that bubblewrap finds in the hall
	seal       func() error
}

// Descriptors of bubblewrap; it closes all of them before the command starts.
const (
	optionsFD = 3 + iota
	statusFD
	firstDataFD
)

func (l *launch) add(options ...string) { l.options = append(l.options, options...) }

func (l *launch) addTmpfs(dir, bytes, mode string) {
	l.add("--size", bytes, "--perms", mode, "--tmpfs", dir)
}

// addData returns the number of the descriptor that content can be read from.
func (l *launch) addData(content string) string {
	l.data = append(l.data, content)
	return strconv.Itoa(firstDataFD + len(l.data) - 1)
}

// attributes make bubblewrap the first process of a PID namespace, so that its
// end ends every process inside, and at home in a user namespace in which root
// is the unprivileged uid, so that nothing inside is ever the host's root.
func attributes(uid, gid int) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
		Setsid:      true,
	}
	if os.Geteuid() == 0 { // become that uid, and leave root's groups behind
		a.Credential = &syscall.Credential{Uid: 0, Gid: 0}
		a.GidMappingsEnableSetgroups = true
	}
	return a
}

// command returns the command line that starts l, without its descriptors.
func (l *launch) command() *exec.Cmd {
	cmd := exec.Command(l.bubblewrap, l.line...)
	cmd.Args = append(cmd.Args, l.argv...)
	cmd.Env = append([]string{}, l.env...) // not nil, which would pass on the caller's
	cmd.Dir = "/"
	cmd.SysProcAttr = l.attributes
	return cmd
}

// files opens what bubblewrap inherits, in the order of its descriptors.
func (l *launch) files(status *os.File) ([]*os.File, error) {
	contents := append([]string{strings.Join(l.options, "\x00") + "\x00"}, l.data...)
	files := make([]*os.File, 0, len(contents)+1)
	for _, content := range contents {
		file, err := memoryFile(content)
		if err != nil {
			closeAll(files)
			return nil, err
		}
		files = append(files, file)
	}
	return append(files[:1], append([]*os.File{status}, files[1:]...)...), nil
}

// memoryFile returns a file without a name that holds content. A pipe would
// hold no more than 64 KiB.
func memoryFile(content string) (*os.File, error) {
	fd, err := unix.MemfdCreate("", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	file := os.NewFile(uintptr(fd), "memfd")
	if _, err := file.WriteString(content); err != nil {
		return nil, closing(err, file)
	}
	if _, err := file.Seek(0, 0); err != nil {
		return nil, closing(err, file)
	}
	return file, nil
}

func closing(err error, file *os.File) error {
	_ = file.Close()
	return err
}

func closeAll(files []*os.File) {
	for _, file := range files {
		_ = file.Close()
	}
}

// closeOnExec marks every descriptor of this process. Those it inherited
// itself, or that a library opened, would reach the command otherwise.
func closeOnExec() error {
	if err := unix.CloseRange(3, ^uint(0)>>32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close_range (Linux 5.11 or newer is needed): %w", err)
	}
	return nil
}

// starter is the one thread that every bubblewrap is started from. Linux counts
// the end of the thread that started a process as the death of its parent, and
// Go ends threads as it likes, unless a goroutine holds on to one.
var starter = sync.OnceValue(newThread)

func newThread() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range work {
			start()
		}
	}()
	return work
}

func onThread(thread chan<- func(), start func() error) error {
	done := make(chan error, 1)
	thread <- func() { done <- start() }
	return <-done
}
