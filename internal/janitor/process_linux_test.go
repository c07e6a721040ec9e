// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

func TestProcessIsGoneOnlyWhenItIsCertain(t *testing.T) {
	me := ThisProcess()
	if me == "" || ProcessGone(me) {
		t.Fatalf("this process, %q, is gone", me)
	}
	child := exec.Command("cat")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	where := me[:strings.LastIndex(me[:strings.LastIndex(me, "/")], "/")]
	start, err := startOf(fmt.Sprint(child.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("%s/%d/%s", where, child.Process.Pid, start)
	if ProcessGone(name) {
		t.Error("a live process is gone")
	}
	if !ProcessGone(fmt.Sprintf("%s/%d/1", where, child.Process.Pid)) {
		t.Error("a process whose number was used again is not gone")
	}
	if ProcessGone("another-boot/pid:[1]/" + fmt.Sprint(child.Process.Pid) + "/" + start) {
		t.Error("a process of another host is gone")
	}
	_ = stdin.Close()
	_ = child.Wait()
	if !ProcessGone(name) {
		t.Error("a process that ended is not gone")
	}
	for _, garbage := range []string{"", "x", where + "/x/1", where + "/-1/1", where + "/1"} {
		if ProcessGone(garbage) {
			t.Errorf("%q is gone", garbage)
		}
	}
}
