// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func TestWhatCannotBeEnforcedIsRefusedWithTheReason(t *testing.T) {
	h, _ := testHost(t, place(t))
	for name, test := range map[string]struct {
		spec      sandbox.Spec
		attribute string
		reason    string
	}{
		"hostnames":          {sandbox.Spec{Network: sandbox.NetworkPolicy{AllowEgressTo: []string{"a.example"}}}, "network_policy", "allow_egress_to cannot"},
		"address ranges":     {sandbox.Spec{Network: sandbox.NetworkPolicy{AllowEgressToCIDRs: []string{"192.0.2.0/24"}}}, "network_policy", "allow_egress_to_cidrs cannot"},
		"cpu":                {sandbox.Spec{CPU: 1}, "cpu", "without a limit"},
		"memory":             {sandbox.Spec{MemoryMiB: 1}, "memory_mib", "without a limit"},
		"gpu":                {sandbox.Spec{GPU: "any"}, "gpu", "no device"},
		"region":             {sandbox.Spec{Region: "eu"}, "region", "this host"},
		"cloud":              {sandbox.Spec{Cloud: "aws"}, "cloud", "this host"},
		"idle timeout":       {sandbox.Spec{IdleTimeout: time.Minute}, "idle_timeout", "nothing can be idle"},
		"no lifetime":        {sandbox.Spec{Lifetime: -1}, "lifetime", "outside"},
		"less than a second": {sandbox.Spec{Lifetime: time.Second - 1}, "lifetime", "outside 1s to 720h0m0s"},
		"more than a month":  {sandbox.Spec{Lifetime: lifetimeMax + 1}, "lifetime", "outside"},
		"a registry image":   {sandbox.Spec{Image: "python:3.12"}, "image", "registry"},
		"a relative image":   {sandbox.Spec{Image: "./rootfs"}, "image", "absolute path"},
		"an odd variable":    {sandbox.Spec{Env: map[string]string{"A=B": "c"}}, "env", "holds '='"},
		"a huge variable":    {sandbox.Spec{Env: map[string]string{"A": strings.Repeat("x", 128<<10-2)}}, "env", "131072 bytes long"},
		"many variables":     {sandbox.Spec{Env: variables(2001)}, "env", "more than 2000"},
		"the host's root":    {sandbox.Spec{Image: "/"}, "image", "host's own root"},
		"the same, pinned":   {sandbox.Spec{Image: "/@sha256-" + strings.Repeat("0", 64)}, "image", "host's own root"},
		"our directory":      {sandbox.Spec{Image: h.dir}, "image", "holds the sandboxes"},
		"one above it":       {sandbox.Spec{Image: filepath.Dir(h.dir) + "/"}, "image", "holds the sandboxes"},
		"a sandbox's files":  {sandbox.Spec{Image: filepath.Join(h.dir, sandboxesDir, "x/work")}, "image", "is in one of them"},
		"a host's directory": {sandbox.Spec{Workdir: "/usr/src/app"}, "image", `with the image "host", the workdir "/usr/src/app" is in /usr`},
		"a NUL byte":         {sandbox.Spec{Env: map[string]string{"A": "\x00"}}, "env", "NUL"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.spec.Lifetime == 0 {
				test.spec.Lifetime = time.Hour
			}
			refusals := h.Refuse(test.spec)
			if len(refusals) != 1 || refusals[0].Attribute != test.attribute || !strings.Contains(refusals[0].Reason, test.reason) {
				t.Errorf("Refuse = %+v; want %s, saying %q", refusals, test.attribute, test.reason)
			}
		})
	}
	for name, spec := range map[string]sandbox.Spec{
		"the least": {Lifetime: lifetimeMin},
		"the most":  {Lifetime: lifetimeMax, Image: "host", Workdir: "/srv/work", Owner: "dag/run", Network: sandbox.NetworkPolicy{Open: true}, Env: map[string]string{"A": "=\n"}},
		"a workdir that only an image leaves free": {Lifetime: time.Hour, Image: "/srv/rootfs", Workdir: "/usr/src/app"},
		"a neighbour of ours":                      {Lifetime: time.Hour, Image: h.dir + "-image"},
		"many variables":                           {Lifetime: time.Hour, Env: variables(2000)},
		"a directory":                              {Lifetime: time.Hour, Image: "/srv/rootfs"},
		"a pinned one":                             {Lifetime: time.Hour, Image: "/srv/rootfs@sha256-" + strings.Repeat("0", 64)},
	} {
		if refusals := h.Refuse(spec); len(refusals) > 0 {
			t.Errorf("%s: Refuse = %+v, want none", name, refusals)
		}
	}
}

func variables(n int) map[string]string {
	env := map[string]string{}
	for i := range n {
		env[fmt.Sprintf("V%d", i)] = "x"
	}
	return env
}

func TestRootOfTheHostOrOfSandboxesIsBuiltToNoImage(t *testing.T) {
	h, _ := testHost(t, place(t))
	for _, from := range []string{"/", "//", h.dir, filepath.Dir(h.dir), filepath.Join(h.dir, sandboxesDir)} {
		_, err := h.BuildImage(t.Context(), backend.ImageSpec{From: from}, io.Discard)
		wantError(t, err, backend.ErrUnenforceable, "from: ")
	}
}

func TestSandboxThatIsMadeCanRunCommands(t *testing.T) {
	h := realHost(t)
	root := rootfs(t)
	must(t, os.MkdirAll(filepath.Join(root, "usr/src"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o644))
	disguised := filepath.Join(filepath.Dir(h.dir), "disguised")
	must(t, os.Symlink(filepath.Dir(h.dir), disguised))
	for name, test := range map[string]struct {
		spec   sandbox.Spec
		reason string // why it is not made; empty: it is
	}{
		"deep in an image":         {sandbox.Spec{Image: root, Workdir: "/usr/src/app"}, ""},
		"as many variables":        {sandbox.Spec{Image: root, Env: variables(2000)}, ""},
		"through a file":           {sandbox.Spec{Image: root, Workdir: "/file/x"}, "leads through /file, which is not a directory"},
		"our directory, disguised": {sandbox.Spec{Image: disguised + "/state"}, "holds the work directory"},
	} {
		t.Run(name, func(t *testing.T) {
			req := request(h, nil)
			test.spec.Lifetime = time.Hour
			req.Spec = test.spec
			made, err := backend.Create(t.Context(), h, req)
			if test.reason != "" {
				wantError(t, err, backend.ErrInvalid, test.reason)
				return
			}
			must(t, err)
			got, err := h.Exec(t.Context(), made.Ref, backend.Command{Argv: []string{"/bin/sh", "-c", "echo x > file"}, Timeout: time.Minute})
			if err != nil || got.ExitCode != 0 {
				t.Errorf("%+v, %v", got, err)
			}
			must(t, h.Destroy(t.Context(), made.Ref))
		})
	}
	wantCleanEnd(t, h)
}

func TestWorkdirIsRefusedExactlyIfCommandsCouldNotRunThere(t *testing.T) {
	h := realHost(t)
	for workdir, accepted := range map[string]bool{
		"": true, "/workspace": true, "/srv/deep/er": true, "/tmp/x": true, "/run/x": true, "/home": true, "/opt/a b": true, "/a\tb": true,
		"/": false, "/tmp": false, "/run": false, "/usr": false, "/usr/local/x": false, "/etc/x": false, "/proc/x": false, "/dev/x": false,
		"relative": false, "/a/../b": false, "/a/": false, "/a//b": false, "/a\x00b": false, "/a:b": false, "/a\nb": false, "/sys/x": false, "/bin/x": false,
	} {
		refused := slices.ContainsFunc(h.Refuse(sandbox.Spec{Lifetime: time.Hour, Workdir: workdir}), func(r backend.Refusal) bool { return strings.Contains(r.Reason, "workdir") })
		if refused == accepted {
			t.Errorf("workdir %q: refused %v", workdir, refused)
			continue
		}
		if !accepted {
			continue
		}
		req := request(h, nil)
		req.Spec.Workdir = workdir
		made := createFrom(t, h, req)
		got, err := h.Exec(t.Context(), made.Ref, backend.Command{Argv: []string{"sh", "-c", "pwd && echo x > file"}, Timeout: time.Minute})
		if err != nil || got.ExitCode != 0 || workdir != "" && string(got.Stdout) != workdir+"\n" {
			t.Errorf("workdir %q: %+v, %v", workdir, got, err)
		}
	}
}

func TestBadRequestMakesNothing(t *testing.T) {
	h, clk := testHost(t, place(t))
	for name, spoil := range map[string]func(*backend.Request){
		"no mark":                          func(r *backend.Request) { r.Mark = "" },
		"no name":                          func(r *backend.Request) { r.Name = "" },
		"a path":                           func(r *backend.Request) { r.Name = "../x" },
		"a long name":                      func(r *backend.Request) { r.Name = strings.Repeat("x", 65) },
		"no end":                           func(r *backend.Request) { r.ExpiresAt = time.Time{} },
		"a distant end":                    func(r *backend.Request) { r.ExpiresAt = clk.Now().Add(lifetimeMax + time.Minute) },
		"a past end":                       func(r *backend.Request) { r.ExpiresAt = clk.Now() },
		"tags not UTF-8":                   func(r *backend.Request) { r.Tags["x"] = "\xff" },
		"an environment that is not UTF-8": func(r *backend.Request) { r.Spec.Env = map[string]string{"X": "\xff"} },
	} {
		req := request(h, nil)
		spoil(&req)
		if made, err := h.Create(t.Context(), req); err == nil {
			t.Errorf("%s: made %s", name, made.Handle)
		} else {
			wantError(t, err, backend.ErrInvalid, "")
		}
	}
	wantCleanEnd(t, h)
}
