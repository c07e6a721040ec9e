// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// judge runs the filter on one system call, as the kernel would. The machine
// of package bpf reads words in network order, so they are put that way.
func judge(t *testing.T, architecture, number uint32, argument uint64) uint32 {
	t.Helper()
	machine, err := bpf.NewVM(filterProgram())
	if err != nil {
		t.Fatal(err)
	}
	data := binary.BigEndian.AppendUint32(nil, number)
	data = binary.BigEndian.AppendUint32(data, architecture)
	data = binary.BigEndian.AppendUint64(data, 0) // instruction pointer
	data = binary.BigEndian.AppendUint32(data, uint32(argument))
	data = binary.BigEndian.AppendUint32(data, uint32(argument>>32))
	verdict, err := machine.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(verdict)
}

func refusal(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

func TestFilterVerdicts(t *testing.T) {
	const native, allowed = unix.AUDIT_ARCH_X86_64, unix.SECCOMP_RET_ALLOW
	const high = 1 << 40
	for _, c := range []struct {
		name         string
		architecture uint32
		number       uint32
		argument     uint64
		want         uint32
	}{
		{"plain call", native, unix.SYS_READ, 0, allowed},
		{"newest call", native, newestCall, 0, allowed},
		{"younger call", native, newestCall + 1, 0, refusal(unix.ENOSYS)},
		{"no call", native, 0xffffffff, 0, refusal(unix.ENOSYS)},
		{"foreign architecture", unix.AUDIT_ARCH_I386, unix.SYS_READ, 0, refusal(unix.ENOSYS)},
		{"another one", unix.AUDIT_ARCH_AARCH64, unix.SYS_READ, 0, refusal(unix.ENOSYS)},
		{"fork", native, unix.SYS_CLONE, uint64(unix.SIGCHLD), allowed},
		{"thread", native, unix.SYS_CLONE, unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND, allowed},
		{"user namespace", native, unix.SYS_CLONE, unix.CLONE_NEWUSER, refusal(unix.EPERM)},
		{"user namespace among others", native, unix.SYS_CLONE, unix.CLONE_NEWUSER | unix.CLONE_NEWNET, refusal(unix.EPERM)},
		{"user namespace under high bits", native, unix.SYS_CLONE, high | unix.CLONE_NEWUSER, refusal(unix.EPERM)},
		{"high bits that look like one", native, unix.SYS_CLONE, unix.CLONE_NEWUSER << 32, allowed},
		{"unix", native, unix.SYS_SOCKET, unix.AF_UNIX, allowed},
		{"inet", native, unix.SYS_SOCKET, unix.AF_INET, allowed},
		{"inet6", native, unix.SYS_SOCKET, unix.AF_INET6, allowed},
		{"netlink", native, unix.SYS_SOCKET, unix.AF_NETLINK, allowed},
		{"netlink under high bits", native, unix.SYS_SOCKET, high | unix.AF_NETLINK, allowed},
		{"vsock", native, unix.SYS_SOCKET, unix.AF_VSOCK, refusal(unix.EAFNOSUPPORT)},
		{"vsock under high bits", native, unix.SYS_SOCKET, high | unix.AF_VSOCK, refusal(unix.EAFNOSUPPORT)},
		{"pair of unix", native, unix.SYS_SOCKETPAIR, unix.AF_UNIX, allowed},
		{"pair of tipc", native, unix.SYS_SOCKETPAIR, unix.AF_TIPC, refusal(unix.EAFNOSUPPORT)},
	} {
		if got := judge(t, c.architecture, c.number, c.argument); got != c.want {
			t.Errorf("%s: %#x, not %#x", c.name, got, c.want)
		}
	}
}

func TestFilterForbidsEachCallOfItsLists(t *testing.T) {
	for _, number := range forbiddenCalls {
		if got := judge(t, unix.AUDIT_ARCH_X86_64, number, 0); got != refusal(unix.EPERM) {
			t.Errorf("call %d: %#x", number, got)
		}
	}
	for _, number := range absentCalls {
		if got := judge(t, unix.AUDIT_ARCH_X86_64, number, 0); got != refusal(unix.ENOSYS) {
			t.Errorf("call %d: %#x", number, got)
		}
	}
}

func TestFilterKnowsNoCallOfAnotherABI(t *testing.T) {
	const x32 = 1 << 30
	for number := range uint32(1024) {
		for _, a := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, unix.AUDIT_ARCH_AARCH64} {
			if got := judge(t, a, number, unix.AF_UNIX); got != refusal(unix.ENOSYS) {
				t.Fatalf("architecture %#x, call %d: %#x", a, number, got)
			}
		}
		if got := judge(t, unix.AUDIT_ARCH_X86_64, x32|number, unix.AF_UNIX); got != refusal(unix.ENOSYS) {
			t.Fatalf("x32 call %d: %#x", number, got)
		}
	}
}

func FuzzFilterOpensNoFamilyButItsOwn(f *testing.F) {
	f.Add(uint64(unix.AF_VSOCK))
	f.Add(uint64(1)<<32 | unix.AF_UNIX)
	f.Fuzz(func(t *testing.T, family uint64) {
		var own bool
		for _, a := range allowedFamilies {
			own = own || uint32(family) == a
		}
		for _, call := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
			if got := judge(t, unix.AUDIT_ARCH_X86_64, call, family); (got == unix.SECCOMP_RET_ALLOW) != own {
				t.Errorf("family %#x: %#x", family, got)
			}
		}
	})
}
