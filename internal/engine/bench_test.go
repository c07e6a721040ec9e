// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"os"
	"syscall"
	"testing"
)

// BenchmarkEngineExec runs `true` to its end through the engine.
func BenchmarkEngineExec(b *testing.B) {
	spec := trueSpec(b)
	for b.Loop() {
		engineExec(b, spec)
	}
}

// BenchmarkBareBubblewrap runs `true` through bubblewrap with the same options,
// as a person would who knows them all by heart.
func BenchmarkBareBubblewrap(b *testing.B) {
	spec := trueSpec(b)
	for b.Loop() {
		bareExec(b, spec)
	}
}

func trueSpec(t testing.TB) Spec {
	t.Helper()
	spec, err := lent(Spec{Argv: []string{"true"}, Work: newWork(t)}).complete(os.Geteuid(), os.Getegid())
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func engineExec(t testing.TB, spec Spec) {
	t.Helper()
	p, err := engineFor(t).Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		t.Fatalf("%+v %v", exit, err)
	}
}

// bareExec starts bubblewrap as the lent user, with the options on the command
// line and in no other namespaces than it makes itself.
func bareExec(t testing.TB, spec Spec) {
	t.Helper()
	l, err := engineFor(t).plan(spec)
	if err != nil {
		t.Fatal(err)
	}
	l.line, l.options = append(l.options, "--"), nil
	l.attributes = &syscall.SysProcAttr{}
	if os.Geteuid() == 0 {
		l.attributes.Credential = &syscall.Credential{Uid: hostID, Gid: hostID}
	}
	status, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	files, err := l.files(status)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(files)
	cmd := l.command()
	cmd.ExtraFiles = files
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
