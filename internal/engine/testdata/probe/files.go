// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// openForWriting only opens: nothing is changed where it comes through.
func openForWriting(args []string) error {
	file, err := os.OpenFile(args[0], os.O_WRONLY, 0)
	if err != nil {
		return refused(err)
	}
	return file.Close()
}

func create(args []string) error {
	file, err := os.CreateTemp(args[0], "attack-")
	if err != nil {
		return refused(err)
	}
	defer os.Remove(file.Name())
	return file.Close()
}

// writableMount is through when the mount at a path is not read-only.
func writableMount(args []string) error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(args[0], &fs); err != nil {
		return err
	}
	const readOnly = 1 // ST_RDONLY
	if fs.Flags&readOnly != 0 {
		return refusedf("%s is read-only", args[0])
	}
	return nil
}

// chmodSame gives a file the mode it has.
func chmodSame(args []string) error {
	info, err := os.Stat(args[0])
	if err != nil {
		return err
	}
	return refused(os.Chmod(args[0], info.Mode()))
}

func see(args []string) error {
	_, err := os.Stat(args[0])
	return refused(err)
}

// grep looks for what standard input says in that file of all processes. The
// needle is not an argument: it would find itself.
func grep(args []string) error {
	needle, err := io.ReadAll(os.Stdin)
	if err != nil || len(needle) == 0 {
		return fmt.Errorf("no needle on standard input: %v", err)
	}
	files, err := filepath.Glob("/proc/[0-9]*/" + args[0])
	if err != nil || len(files) < 2 {
		return fmt.Errorf("no processes to look at: %v", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if bytes.Contains(content, needle) {
			return nil
		}
	}
	return refusedf("not in %s", strings.Join(files, " "))
}

// descriptors is through when this process, or the first one, has any that it
// should not have.
func descriptors([]string) error {
	for fd := 3; fd < 1024; fd++ {
		if _, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0); errno == 0 {
			link, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
			fmt.Println("there is", fd, link)
			return nil
		}
	}
	entries, err := os.ReadDir("/proc/1/fd")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		link, _ := os.Readlink("/proc/1/fd/" + entry.Name())
		if !strings.HasPrefix(link, "pipe:") && link != "anon_inode:[eventfd]" {
			fmt.Println("the first process has", entry.Name(), link)
			return nil
		}
	}
	return refusedf("nothing but pipes in %d descriptors", len(entries))
}
