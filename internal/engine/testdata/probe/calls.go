// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"
)

// Numbers of system calls that package syscall does not know (linux/amd64).
const (
	sysProcessVMReadv = 310
	sysIOUringSetup   = 425
	sysPidfdOpen      = 434
	sysPidfdGetfd     = 438
	x32               = 1 << 30
	cloneNewUser      = 0x10000000
)

var calls = map[string]func() syscall.Errno{
	"keyctl": func() syscall.Errno { // the id of the session's keyring
		const getKeyringID, session = 0, ^uintptr(2)
		return raw(syscall.SYS_KEYCTL, getKeyringID, session, 0)
	},
	"ptrace": func() syscall.Errno { return raw(syscall.SYS_PTRACE, syscall.PTRACE_TRACEME, 0, 0) },
	"process_vm_readv": func() syscall.Errno {
		from, to := []byte("secret"), make([]byte, 6)
		local := syscall.Iovec{Base: &to[0], Len: 6}
		remote := syscall.Iovec{Base: &from[0], Len: 6}
		_, _, errno := syscall.RawSyscall6(sysProcessVMReadv, uintptr(syscall.Getpid()),
			uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
		return errno
	},
	"pidfd_getfd": func() syscall.Errno { // standard input of the first process
		pidfd, _, errno := syscall.RawSyscall(sysPidfdOpen, 1, 0, 0)
		if errno != 0 {
			panic(errno)
		}
		return raw(sysPidfdGetfd, pidfd, 0, 0)
	},
	"io_uring": func() syscall.Errno {
		parameters := make([]byte, 256)
		return raw(sysIOUringSetup, 1, uintptr(unsafe.Pointer(&parameters[0])), 0)
	},
	"unshare_user": func() syscall.Errno { return raw(syscall.SYS_UNSHARE, cloneNewUser, 0, 0) },
	"clone_user":   func() syscall.Errno { return clone(cloneNewUser) },
	// The kernel looks at the lower half of these arguments only.
	"clone_user_high":   func() syscall.Errno { return clone(1<<40 | cloneNewUser) },
	"socket_vsock_high": func() syscall.Errno { return raw(syscall.SYS_SOCKET, 1<<32|40, syscall.SOCK_STREAM, 0) },
	"socket_x32":        func() syscall.Errno { return raw(x32|syscall.SYS_SOCKET, 40, syscall.SOCK_STREAM, 0) },
	"getpid_x32":        func() syscall.Errno { return raw(x32|syscall.SYS_GETPID, 0, 0, 0) },
	"raw_socket": func() syscall.Errno {
		return raw(syscall.SYS_SOCKET, syscall.AF_INET, syscall.SOCK_RAW, syscall.IPPROTO_ICMP)
	},
	"setuid": func() syscall.Errno { return raw(syscall.SYS_SETUID, 0, 0, 0) },
	"mknod": func() syscall.Errno {
		path, _ := syscall.BytePtrFromString("disk")
		return raw(syscall.SYS_MKNOD, uintptr(unsafe.Pointer(path)), syscall.S_IFBLK|0o600, 0xfe00)
	},
}

func raw(number, a, b, c uintptr) syscall.Errno {
	_, _, errno := syscall.RawSyscall(number, a, b, c)
	return errno
}

// clone forks with flags; the child ends at once.
func clone(flags uintptr) syscall.Errno {
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, flags|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno == 0 && pid == 0 {
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
	}
	return errno
}

// call is through when a system call succeeds.
func call(args []string) error {
	runtime.LockOSThread()
	do := calls[args[0]]
	if do == nil {
		return fmt.Errorf("no call %q", args[0])
	}
	return outcome(do())
}
