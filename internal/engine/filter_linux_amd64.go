// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// newestCall is the youngest system call that was considered for this filter.
// What is younger does not exist inside, and neither do the calls of the x32
// ABI, whose numbers begin at 1<<30.
const newestCall = unix.SYS_FILE_SETATTR

// forbiddenCalls fail with EPERM. They are what namespaces and the lack of
// capabilities do not stop, or stop only by a single check.
var forbiddenCalls = []uint32{
	// The host's keys and kernel log belong to no namespace.
	unix.SYS_ADD_KEY, unix.SYS_KEYCTL, unix.SYS_REQUEST_KEY, unix.SYS_SYSLOG,
	// The insides of other processes: the first one has no filter for an
	// instant after it started the command.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
	unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	// New namespaces and mounts, and what leads around them.
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_MOUNT_SETATTR, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
	unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_OPEN_BY_HANDLE_AT,
	// Large parts of the kernel that a command has no need of.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT, unix.SYS_MODIFY_LDT,
}

// absentCalls fail with ENOSYS, at which C libraries and runtimes fall back.
// The flags of clone3 are in memory, where no filter can see them; an io_uring
// makes other calls behind the filter's back.
var absentCalls = []uint32{
	unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
}

// allowedFamilies are the only kinds of socket. Above all AF_VSOCK is none of
// them: it passes by network namespaces and leads to the hypervisor.
var allowedFamilies = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// Offsets in struct seccomp_data of the kernel. Of an argument this is the low
// half, which is all that the kernel looks at for the arguments judged here.
const (
	numberOffset        = 0
	architectureOffset  = 4
	firstArgumentOffset = 16
)

// systemCallFilter returns the filter as `bwrap --seccomp` reads it.
func systemCallFilter() ([]byte, error) { return encode(filterProgram()) }

func encode(program []bpf.Instruction) ([]byte, error) {
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, fmt.Errorf("assemble the system call filter: %w", err)
	}
	var out []byte
	for _, in := range raw {
		out = binary.NativeEndian.AppendUint16(out, in.Op)
		out = append(out, in.Jt, in.Jf)
		out = binary.NativeEndian.AppendUint32(out, in.K)
	}
	return out, nil
}

func filterProgram() []bpf.Instruction {
	// Calls by another architecture's numbers (int 0x80) come first: the rest
	// would misread them.
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: architectureOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AUDIT_ARCH_X86_64, SkipTrue: 1},
		fail(unix.ENOSYS),
		bpf.LoadAbsolute{Off: numberOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: newestCall, SkipTrue: 1},
		fail(unix.ENOSYS),
	}
	for _, number := range forbiddenCalls {
		program = append(program, onlyCall(number, fail(unix.EPERM))...)
	}
	for _, number := range absentCalls {
		program = append(program, onlyCall(number, fail(unix.ENOSYS))...)
	}
	program = append(program, onlyCall(unix.SYS_CLONE, noUserNamespace()...)...)
	program = append(program, onlyCall(unix.SYS_SOCKET, onlyFamilies()...)...)
	program = append(program, onlyCall(unix.SYS_SOCKETPAIR, onlyFamilies()...)...)
	return append(program, allow)
}

var allow = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}

func fail(errno unix.Errno) bpf.RetConstant {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

// onlyCall puts a verdict under the condition that the call is number. The
// verdict must not run on past its end.
func onlyCall(number uint32, verdict ...bpf.Instruction) []bpf.Instruction {
	return append([]bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: number, SkipFalse: uint8(len(verdict))},
	}, verdict...)
}

func noUserNamespace() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: firstArgumentOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.CLONE_NEWUSER, SkipFalse: 1},
		fail(unix.EPERM),
		allow,
	}
}

func onlyFamilies() []bpf.Instruction {
	verdict := []bpf.Instruction{bpf.LoadAbsolute{Off: firstArgumentOffset, Size: 4}}
	for _, family := range allowedFamilies {
		verdict = append(verdict, bpf.JumpIf{Cond: bpf.JumpEqual, Val: family, SkipFalse: 1}, allow)
	}
	return append(verdict, fail(unix.EAFNOSUPPORT))
}
