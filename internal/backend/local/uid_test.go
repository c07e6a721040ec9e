// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// ownerOf is the host user of a sandbox's files.
func ownerOf(t *testing.T, h *host, s sandbox.Sandbox) int {
	t.Helper()
	info, err := os.Stat(filepath.Join(h.dir, sandboxesDir, s.Handle, workDir))
	must(t, err)
	is, ok := info.Sys().(*syscall.Stat_t)
	if !ok || info.Mode().Perm() != 0o700 {
		t.Fatalf("workdir %v", info.Mode())
	}
	return int(is.Uid)
}

func TestEachSandboxOfRootHasAHostUserOfItsOwn(t *testing.T) {
	h, _ := testHost(t, place(t))
	if me := os.Geteuid(); me != 0 {
		if user := ownerOf(t, h, create(t, h, nil)); user != me {
			t.Errorf("the files of user %d's sandbox are user %d's", me, user)
		}
		return
	}
	users := make([]int, 32)
	var all sync.WaitGroup
	for i := range users {
		all.Go(func() { users[i] = ownerOf(t, h, create(t, h, nil)) })
	}
	all.Wait()
	seen := map[int]bool{0: true}
	for _, user := range users {
		if seen[user] || user < firstUID || user > lastUID {
			t.Errorf("user %d is taken or out of range", user)
		}
		seen[user] = true
	}

	must(t, os.Remove(filepath.Join(h.dir, nextUIDFile)))
	if user := ownerOf(t, h, create(t, h, nil)); seen[user] {
		t.Errorf("without its counter it took user %d again", user)
	}
	for _, spoilt := range []string{"", "x", "0", "70000", strconv.Itoa(lastUID + 1)} {
		must(t, os.WriteFile(filepath.Join(h.dir, nextUIDFile), []byte(spoilt), 0o600))
		_, err := backend.Create(t.Context(), h, request(h, nil))
		wantError(t, err, backend.ErrInvalid, "remove it")
	}
}
