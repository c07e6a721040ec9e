// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestHugeInputAndOutputPassWhole(t *testing.T) {
	const size = 64 << 20
	var count counter
	p := begin(t, Spec{Argv: []string{"cat"}, Stdin: io.LimitReader(zeroes{}, size), Stdout: &count})
	if exit, err := p.Wait(); err != nil || exit.Code != 0 || count != size {
		t.Errorf("%+v %v, %d bytes of %d", exit, err, count, size)
	}
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { return len(p), nil }

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

func TestInputThatIsNotReadDoesNotHoldUp(t *testing.T) {
	blocked, writer := io.Pipe()
	defer func() { _ = writer.Close() }()
	for name, stdin := range map[string]io.Reader{"endless": zeroes{}, "blocked": blocked, "none": nil} {
		begun := time.Now()
		if exit, err := begin(t, Spec{Argv: []string{"true"}, Stdin: stdin}).Wait(); err != nil || exit.Code != 0 {
			t.Errorf("%s: %+v %v", name, exit, err)
		}
		if took := time.Since(begun); took >= streamGrace {
			t.Errorf("%s: took %s", name, took)
		}
	}
}

func TestNoInputIsTheEndOfInput(t *testing.T) {
	if exit, out := run(t, Spec{Argv: shell("cat; echo end")}); exit.Code != 0 || out != "end\n" {
		t.Errorf("%+v %q", exit, out)
	}
}

func TestInputThatFailsIsNotTakenForWhole(t *testing.T) {
	broken := errors.New("broken")
	var out bytes.Buffer
	stdin := io.MultiReader(strings.NewReader("half"), failing{broken})
	exit, err := begin(t, Spec{Argv: []string{"cat"}, Stdin: stdin, Stdout: &out}).Wait()
	if !errors.Is(err, ErrStream) || !errors.Is(err, broken) || exit.Code != 0 || out.String() != "half" {
		t.Errorf("%+v %v %q", exit, err, out.String())
	}
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error)  { return 0, f.error }
func (f failing) Write([]byte) (int, error) { return 0, f.error }

func TestWriterThatFailsEndsTheCommandAndIsReported(t *testing.T) {
	broken := errors.New("broken")
	for _, argv := range [][]string{{"yes"}, shell("echo x; sleep 0.1; exit 3")} {
		exit, err := begin(t, Spec{Argv: argv, Stdout: failing{broken}}).Wait()
		if !errors.Is(err, ErrStream) || !errors.Is(err, broken) || exit.Code == 0 || exit.Killed {
			t.Errorf("%s: %+v %v", argv, exit, err)
		}
	}
}

func TestStuckWriterHoldsTheCommandButNotItsEnd(t *testing.T) {
	release, stuck := make(chan struct{}), make(chan struct{})
	defer close(release)
	p := begin(t, Spec{Argv: []string{"yes"}, Stdout: writerFunc(func(p []byte) (int, error) {
		select {
		case <-stuck:
		default:
			close(stuck)
		}
		<-release
		return len(p), nil
	})})
	<-stuck
	p.streams.grace = 50 * time.Millisecond
	p.Kill()
	if exit, err := p.Wait(); !errors.Is(err, ErrStream) || !exit.Killed {
		t.Errorf("%+v %v", exit, err)
	}
}

// TestOutputHandedOutsideDoesNotHoldUpTheEnd lets a command give its standard
// output to a process that its end does not end.
func TestOutputHandedOutsideDoesNotHoldUpTheEnd(t *testing.T) {
	work := newWork(t)
	dir, err := os.Open(work)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	// Its own path may be too long for a socket.
	socket := &net.UnixAddr{Name: fmt.Sprintf("/proc/self/fd/%d/socket", dir.Fd()), Net: "unix"}
	listener, err := net.ListenUnix("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if err := os.Chmod(socket.Name, 0o777); err != nil {
		t.Fatal(err)
	}
	p := begin(t, Spec{Argv: []string{"./probe", "smuggle", "socket"}, Work: work})
	p.streams.grace = 50 * time.Millisecond
	conn, err := listener.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	rights := make([]byte, 64)
	_, n, _, _, err := conn.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil || n == 0 {
		t.Fatalf("%d bytes of rights, %v", n, err)
	}
	if exit, err := p.Wait(); !errors.Is(err, ErrStream) || exit != (Exit{}) {
		t.Errorf("%+v %v", exit, err)
	}
	closeRights(t, rights[:n])
}

func closeRights(t *testing.T, rights []byte) {
	t.Helper()
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range messages {
		fds, err := unix.ParseUnixRights(&message)
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}
}

func TestOneWriterForBothKeepsTheOrder(t *testing.T) {
	var both strings.Builder
	var want strings.Builder
	for range 200 {
		want.WriteString("out\nerr\n")
	}
	p := begin(t, Spec{Argv: shell("for i in $(seq 200); do echo out; echo err >&2; done"), Stdout: &both, Stderr: &both})
	if exit, err := p.Wait(); err != nil || exit.Code != 0 || both.String() != want.String() {
		t.Errorf("%+v %v\n%s", exit, err, both.String())
	}
}

func TestTwoWritersAreKeptApart(t *testing.T) {
	var out, errs bytes.Buffer
	p := begin(t, Spec{Argv: shell("echo out; echo err >&2"), Stdout: &out, Stderr: &errs})
	if _, err := p.Wait(); err != nil || out.String() != "out\n" || errs.String() != "err\n" {
		t.Errorf("%v %q %q", err, out.String(), errs.String())
	}
}

func TestSameWriterIsToldWithoutPanic(t *testing.T) {
	type uncomparable struct {
		io.Writer
		_ []int
	}
	a, b := &bytes.Buffer{}, &bytes.Buffer{}
	for _, c := range []struct {
		a, b io.Writer
		want bool
	}{
		{a, a, true}, {a, b, false}, {nil, nil, false}, {a, nil, false},
		{uncomparable{Writer: a}, uncomparable{Writer: a}, false}, {a, uncomparable{Writer: a}, false},
	} {
		if got := same(c.a, c.b); got != c.want {
			t.Errorf("same(%v, %v) = %t", c.a, c.b, got)
		}
	}
}
