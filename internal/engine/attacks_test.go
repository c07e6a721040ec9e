// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

func TestNetworkIsCut(t *testing.T) {
	tcp := answer(t, "tcp", "127.0.0.1:0")
	abstract := answer(t, "unix", "@engine-test-"+strconv.Itoa(os.Getpid()))
	udp := answerPackets(t)
	cut := without("--unshare-net")
	tryAll(t, []attack{
		{name: "TCP to the host's loopback", probe: []string{"dial", "tcp", tcp}, says: "refused", weaken: cut},
		{name: "UDP to the host's loopback", probe: []string{"dial", "udp", udp}, says: "refused", weaken: cut},
		{name: "abstract socket of the host", probe: []string{"dial", "unix", abstract}, says: "refused", weaken: cut},
		{name: "interfaces of the host", probe: []string{"interfaces"}, weaken: cut},
		{name: "address outside, IPv4", probe: []string{"dial", "tcp", "192.0.2.1:80"}, says: "unreachable"},
		{name: "address outside, IPv6", probe: []string{"dial", "tcp", "[2001:db8::1]:80"}, says: "unreachable"},
		{name: "name server outside", probe: []string{"resolve", "192.0.2.1:53"}, says: "unreachable"},
		{name: "raw socket", probe: []string{"call", "raw_socket"}, says: "not permitted"},
	})
}

func TestSharedNetworkReachesTheHost(t *testing.T) {
	spec := Spec{Work: newWork(t), Network: true, Argv: []string{"./probe", "dial", "tcp", answer(t, "tcp", "127.0.0.1:0")}}
	if exit, out := run(t, spec); exit.Code != 0 {
		t.Errorf("%+v\n%s", exit, out)
	}
}

func TestOtherSocketFamiliesDoNotExist(t *testing.T) {
	unsupported := "errno " + strconv.Itoa(int(unix.EAFNOSUPPORT))
	vsock := []string{"socket", strconv.Itoa(unix.AF_VSOCK)}
	shared := Spec{Network: true}
	tryAll(t, []attack{
		{name: "vsock", probe: vsock, says: unsupported, weaken: ifHostHas(vsock, withoutFilter)},
		{name: "vsock with the network shared", probe: vsock, spec: shared, says: unsupported, weaken: ifHostHas(vsock, withoutFilter)},
		{name: "vsock hidden behind high bits", probe: []string{"call", "socket_vsock_high"}, says: unsupported, weaken: ifHostHas(vsock, withoutFilter)},
		{name: "vsock by the numbers of x32", probe: []string{"call", "socket_x32"}, says: "not implemented"},
		{name: "packet", probe: []string{"socket", strconv.Itoa(unix.AF_PACKET)}, says: unsupported},
		{name: "alg", probe: []string{"socket", strconv.Itoa(unix.AF_ALG)}, says: unsupported},
	})
}

// TestForeignArchitectureDoesNotPassTheFilter makes AF_VSOCK through int 0x80,
// where system calls have the numbers of 32 bit programs.
func TestForeignArchitectureDoesNotPassTheFilter(t *testing.T) {
	work := newWork(t)
	if err := os.WriteFile(filepath.Join(work, "int80"), int80Vsock(), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := Spec{Work: work, Argv: []string{"./int80"}}
	if exit, out := run(t, spec); exit.Code != int(unix.ENOSYS) {
		t.Errorf("ended with %+v, not with ENOSYS\n%s", exit, out)
	}
	if exec.Command(filepath.Join(work, "int80")).Run() != nil && os.Geteuid() != 0 {
		t.Log("this kernel has no vsock for 32 bit programs")
		return
	}
	if exit, out := run(t, spec, withFilter(filterProgram()[3:])); exit.Code != 0 {
		t.Errorf("stopped even by a filter that does not ask for the architecture: %+v\n%s", exit, out)
	}
}

func TestSystemCallsAroundNamespacesFail(t *testing.T) {
	call := func(name string) []string { return []string{"call", name} }
	namespaces := all(without("--disable-userns"), withoutFilter)
	tryAll(t, []attack{
		{name: "the session's keyring", probe: call("keyctl"), says: "errno 1)", weaken: withoutFilter},
		{name: "tracing", probe: call("ptrace"), says: "errno 1)", weaken: withoutFilter},
		{name: "memory of processes", probe: call("process_vm_readv"), says: "errno 1)", weaken: withoutFilter},
		{name: "descriptors of the first process", probe: call("pidfd_getfd"), says: "errno 1)", weaken: withoutFilter},
		{name: "io_uring", probe: call("io_uring"), says: "errno 38)", weaken: ifHostHas(call("io_uring"), withoutFilter)},
		{name: "user namespace by unshare", probe: call("unshare_user"), says: "errno 1)"},
		{name: "user namespace by clone", probe: call("clone_user"), says: "errno 1)", weaken: namespaces},
		{name: "user namespace behind high bits", probe: call("clone_user_high"), says: "errno 1)", weaken: namespaces},
		{name: "calls of x32", probe: call("getpid_x32"), says: "errno 38)"},
		{name: "becoming root", probe: call("setuid"), says: "errno 22)"},
		{name: "making a device", probe: call("mknod"), says: "errno 1)"},
	})
}

func TestNothingOutsideIsWritable(t *testing.T) {
	secret := filepath.Join(openDirectory(t), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	attacks := []attack{
		{name: "root directory", probe: []string{"create", "/"}, says: "read-only", weaken: without("--remount-ro", "/")},
		{name: "devices", probe: []string{"create", "/dev"}, says: "read-only", weaken: without("--remount-ro", "/dev")},
		{name: "programs", probe: []string{"create", "/usr/bin"}, says: "read-only"},
		{name: "programs, the mount", probe: []string{"readonly", "/usr"}},
		{name: "programs, their mode", probe: []string{"chmod", "/usr/bin/env"}, says: "read-only"},
		{name: "settings", probe: []string{"create", "/etc"}, says: "read-only"},
		{name: "users", probe: []string{"chmod", "/etc/passwd"}, says: "read-only"},
		{name: "memory of the first process", probe: []string{"open", "/proc/1/mem"}, says: "denied",
			weaken: without("--ro-bind", "/dev/null", "/proc/1/mem")},
		{name: "memory of its thread", probe: []string{"open", "/proc/1/task/1/mem"}, says: "denied",
			weaken: without("--ro-bind", "/dev/null", "/proc/1/task/1/mem")},
		{name: "the kernel's settings, the mount", probe: []string{"readonly", "/proc/sys"},
			weaken: without("--ro-bind", "/proc/sys", "/proc/sys")},
		{name: "the kernel's settings", probe: []string{"open", "/proc/sys/kernel/core_pattern"}},
		{name: "bubblewrap itself", probe: []string{"chmod", "/proc/1/exe"}, says: "not permitted"},
		{name: "files of the host", probe: []string{"see", secret}, says: "no such file", weaken: func(l *launch) {
			l.options = slices.Insert(l.options, slices.Index(l.options, "--remount-ro"), "--ro-bind", secret, secret)
		}},
	}
	for _, path := range []string{"/root", "/home", "/var", "/opt", "/srv", "/mnt", "/sys", "/etc/shadow", "/etc/ssl/private", "/run/docker.sock"} {
		attacks = append(attacks, attack{name: "sight of " + path, probe: []string{"see", path}, says: "no such file"})
	}
	tryAll(t, attacks)
}

// TestRealRootWouldOwnTheKernelsSettings shows why root's own uid is never lent:
// nothing but that uid is changed, and nothing is written.
func TestRealRootWouldOwnTheKernelsSettings(t *testing.T) {
	if os.Geteuid() != 0 {
		return // an ordinary user has no such uid to lend
	}
	lendRoot := func(l *launch) {
		l.attributes.UidMappings[0].HostID = 0
		l.attributes.GidMappings[0].HostID = 0
	}
	for name, a := range map[string]struct {
		probe  []string
		weaken func(*launch)
	}{
		"core_pattern":      {[]string{"open", "/proc/sys/kernel/core_pattern"}, all(lendRoot, without("--ro-bind", "/proc/sys", "/proc/sys"))},
		"bubblewrap's mode": {[]string{"chmod", "/proc/1/exe"}, lendRoot},
	} {
		spec := Spec{Argv: append([]string{DefaultWorkdir + "/probe"}, a.probe...), Work: newWork(t)}
		if err := os.Chown(spec.Work, 0, 0); err != nil {
			t.Fatal(err)
		}
		if exit, out := run(t, spec, a.weaken); exit.Code != 0 {
			t.Errorf("%s: stopped even with uid 0: %+v\n%s", name, exit, out)
		}
	}
}

func TestNoProcessOrMountInsideIsStrong(t *testing.T) {
	tryAll(t, []attack{
		{name: "capabilities, new privileges, filter", probe: []string{"processes"}, weaken: withoutFilter},
		{name: "setuid files, devices, writable mounts", probe: []string{"mounts", DefaultWorkdir}, weaken: func(l *launch) {
			l.options = append(l.options, "--bind", "/tmp", "/tmp/more")
		}},
		{name: "processes of the host", probe: []string{"count"}, weaken: without("--unshare-pid")},
	})
}

func TestHostEnvironmentIsNotSeenInside(t *testing.T) {
	const canary = "canary-5e2f1c"
	t.Setenv("ENGINE_TEST_CANARY", canary)
	tryAll(t, []attack{{
		name: "environ of any process", probe: []string{"grep", "environ"}, stdin: canary,
		weaken: func(l *launch) { l.env = os.Environ() },
	}})
}

func TestSecretsAndHostPathsAreOnNoCommandLine(t *testing.T) {
	const canary = "canary-81b7d0"
	spec := Spec{Env: map[string]string{"TOKEN": canary}}
	onTheLine := func(l *launch) {
		l.line, l.options = append(slices.Clone(l.options), "--"), nil
	}
	tryAll(t, []attack{{name: "inside", probe: []string{"grep", "cmdline"}, stdin: canary, spec: spec, weaken: onTheLine}})

	t.Run("outside", func(t *testing.T) {
		work := newWork(t)
		spec.Argv, spec.Work = shell("echo ready; cat"), work
		input, hold, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = input.Close() }()
		started := make(chan struct{})
		spec.Stdin, spec.Stdout = input, writerFunc(func(p []byte) (int, error) { close(started); return len(p), nil })
		p := begin(t, spec)
		<-started
		line, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		_ = hold.Close()
		if exit, err := p.Wait(); err != nil || exit.Code != 0 {
			t.Fatal(exit, err)
		}
		if want := "\x00--args\x003\x00--\x00sh\x00"; !bytes.Contains(line, []byte(want)) {
			t.Errorf("%q is not the command line of bubblewrap", line)
		}
		if bytes.Contains(line, []byte(canary)) || bytes.Contains(line, []byte(work)) {
			t.Errorf("%q holds a secret or a path of the host", line)
		}
	})
}

func TestInheritedDescriptorsDoNotReachTheCommand(t *testing.T) {
	const high = 200                                // beyond those that bubblewrap is given
	fd, err := unix.FcntlInt(0, unix.F_DUPFD, high) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	tryAll(t, []attack{{
		name: "descriptors", probe: []string{"descriptors"},
		weaken: func(l *launch) {
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil { // the attempt before sealed it
				panic(err)
			}
			l.seal = func() error { return nil }
		},
	}})
}

// answer listens and says hello to whoever comes.
func answer(t *testing.T, network, address string) string {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 16))
			_, _ = conn.Write([]byte("hello"))
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}

func answerPackets(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		for buffer := make([]byte, 64); ; {
			_, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo([]byte("hello"), from)
		}
	}()
	return conn.LocalAddr().String()
}

// ifHostHas returns weaken when the attack works on the bare host. A kernel
// without a thing needs no protection from it.
func ifHostHas(probe []string, weaken func(*launch)) func(*launch) {
	if exec.Command(probePath, probe...).Run() != nil {
		return nil
	}
	return weaken
}

// withFilter replaces the system call filter.
func withFilter(program []bpf.Instruction) func(*launch) {
	return func(l *launch) {
		raw, err := encode(program)
		if err != nil {
			panic(err)
		}
		i := slices.Index(l.options, "--seccomp")
		fd, err := strconv.Atoi(l.options[i+1])
		if err != nil {
			panic(err)
		}
		l.data[fd-firstDataFD] = string(raw)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// int80Vsock is a static program of a few instructions that ends with the errno
// of socket(AF_VSOCK, SOCK_STREAM, 0), called the 32 bit way.
func int80Vsock() []byte {
	code := []byte{
		0xb8, 0x67, 0x01, 0, 0, // mov eax, 359 (socket)
		0xbb, 40, 0, 0, 0, // mov ebx, 40 (AF_VSOCK)
		0xb9, 1, 0, 0, 0, // mov ecx, 1 (SOCK_STREAM)
		0x31, 0xd2, // xor edx, edx
		0xcd, 0x80, // int 0x80
		0x31, 0xff, // xor edi, edi
		0x85, 0xc0, // test eax, eax
		0x79, 0x04, // jns +4
		0x89, 0xc7, // mov edi, eax
		0xf7, 0xdf, // neg edi
		0xb8, 60, 0, 0, 0, // mov eax, 60 (exit)
		0x0f, 0x05, // syscall
	}
	return append(elfHeader(len(code)), code...)
}

// elfHeader is the least that makes code of size bytes after it a program.
func elfHeader(size int) []byte {
	const base, headers = 0x400000, 64 + 56
	var out bytes.Buffer
	out.WriteString("\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9))
	u16 := func(values ...uint16) {
		for _, v := range values {
			out.Write([]byte{byte(v), byte(v >> 8)})
		}
	}
	u64 := func(values ...uint64) {
		for _, v := range values {
			for i := range 8 {
				out.WriteByte(byte(v >> (8 * i)))
			}
		}
	}
	u16(2, 62, 1, 0)              // executable, x86-64, version (two halves)
	u64(base+headers, 64, 0)      // entry, program headers, section headers
	u16(0, 0, 64, 56, 1, 0, 0, 0) // flags (two halves), sizes and counts
	u16(1, 0, 5, 0)               // PT_LOAD, readable and executable
	u64(0, base, base, headers+uint64(size), headers+uint64(size), 0x1000)
	return out.Bytes()
}
