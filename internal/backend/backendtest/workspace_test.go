// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func makeWorkspace(dir string) error { return os.MkdirAll(dir, 0o700) }

// use runs do in the sandbox's workspace, in one call.
func (r *reference) use(ctx context.Context, call backend.Call, ref sandbox.Ref, do func(context.Context, record) error) error {
	err := r.caller.Do(ctx, call, func(ctx context.Context) error {
		r.server.mu.Lock()
		rec, err := r.server.usable(ref)
		if r.flaw == mixesUp {
			for _, rec = range r.server.records {
				break
			}
		}
		r.server.mu.Unlock()
		if err != nil {
			return err
		}
		return do(ctx, *rec)
	})
	if r.flaw == everyErrorIsGone && err != nil {
		return fmt.Errorf("%w: %w", backend.ErrNotFound, err)
	}
	return err
}

// Exec runs the command on this machine, as the first child in a process
// namespace, so that it can be ended whole, and with the network that its policy
// gives. It is not isolated otherwise.
func (r *reference) Exec(ctx context.Context, ref sandbox.Ref, c backend.Command) (result backend.Result, err error) {
	if len(c.Argv) == 0 || c.Timeout <= 0 {
		return result, fmt.Errorf("%w command", backend.ErrInvalid)
	}
	call := backend.Call{Verb: "exec", Deadline: c.Timeout + time.Minute, Idempotent: r.flaw == retriesCommands}
	err = r.use(ctx, call, ref, func(ctx context.Context, rec record) error {
		result, err = r.run(ctx, rec, c)
		return err
	})
	return result, err
}

func (r *reference) run(ctx context.Context, rec record, c backend.Command) (backend.Result, error) {
	timeout := min(c.Timeout, rec.ServerEnds.Sub(r.server.now()))
	if r.flaw == outlastsSandbox {
		timeout = c.Timeout
	}
	running, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	go func() {
		select {
		case <-rec.ended:
			cancel()
		case <-rec.blocked:
			cancel()
		case <-running.Done():
		}
	}()
	argv := c.Argv
	if r.flaw == joinsArguments {
		argv = []string{"sh", "-c", strings.Join(argv, " ")}
	}
	limit := cmp.Or(c.MaxOutput, backend.DefaultMaxOutput)
	stdout, stderr := &tail{limit: limit, head: r.flaw == keepsHead}, &tail{limit: limit}

	cmd := exec.CommandContext(running, "sh", append([]string{"-c", `"$@"; exit $?`, "sh"}, argv...)...)
	cmd.Dir = path.Join(rec.dir, strings.TrimPrefix(c.Dir, sandbox.DefaultWorkdir))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, stdout, stderr
	cmd.Env = r.environ(rec, c)
	cmd.WaitDelay = 100 * time.Millisecond
	if r.flaw != leavesProcesses {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID,
			Pdeathsig:   syscall.SIGKILL,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
		if !rec.spec.Network.Open {
			cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWNET
		}
	}
	err := cmd.Run()
	result := backend.Result{
		ExitCode: cmd.ProcessState.ExitCode(), AppliedTimeout: timeout, TimedOut: errors.Is(running.Err(), context.DeadlineExceeded), Terminated: errors.Is(running.Err(), context.Canceled),
		Stdout: stdout.kept, StdoutTruncated: stdout.cut && r.flaw != hidesTruncation,
		Stderr: stderr.kept, StderrTruncated: stderr.cut && r.flaw != hidesTruncation,
	}
	if r.flaw == cleansOutput {
		result.Stdout = bytes.ToValidUTF8(result.Stdout, []byte("?"))
	}
	switch exit := new(exec.ExitError); {
	case ctx.Err() != nil:
		return backend.Result{}, ctx.Err()
	case err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) && running.Err() == nil:
		return backend.Result{}, fmt.Errorf("%w: %v", backend.ErrInvalid, err)
	}
	return result, nil
}

func (r *reference) environ(rec record, c backend.Command) []string {
	env := []string{"PATH=" + os.Getenv("PATH")}
	if r.flaw == leaksEnvironment {
		env = os.Environ()
	}
	all := make(map[string]string)
	maps.Copy(all, rec.spec.Env)
	maps.Copy(all, c.Env)
	for key, value := range all {
		env = append(env, key+"="+value)
	}
	return env
}

// tail keeps the last limit bytes.
type tail struct {
	limit int
	head  bool // a flaw: keep the first instead
	kept  []byte
	cut   bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - t.limit; over > 0 && t.head {
		t.kept, t.cut = t.kept[:t.limit], true
	} else if over > 0 {
		t.kept, t.cut = bytes.Clone(t.kept[over:]), true
	}
	return len(p), nil
}

// within runs do on the workspace with the path inside it. Errors are of the
// file, and never read as the sandbox's.
func (r *reference) within(ctx context.Context, verb string, ref sandbox.Ref, name string, do func(root *os.Root, name string) error) error {
	if !path.IsAbs(name) {
		return fmt.Errorf("path %q: %w: not absolute", name, backend.ErrInvalid)
	}
	return r.use(ctx, backend.Call{Verb: verb, Idempotent: true}, ref, func(_ context.Context, rec record) error {
		inside, ok := strings.CutPrefix(path.Clean(name), sandbox.DefaultWorkdir)
		if !ok {
			return fmt.Errorf("path %q: %w", name, fs.ErrNotExist)
		}
		root, err := os.OpenRoot(rec.dir)
		if err != nil {
			return err
		}
		defer func() { _ = root.Close() }()
		err = do(root, path.Join(".", inside))
		if r.flaw == missingIsGone && errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %v", backend.ErrNotFound, err)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, backend.ErrTooLarge) {
			err = fmt.Errorf("path %q: %w: %v", name, backend.ErrInvalid, err)
		}
		return err
	})
}

func (r *reference) ReadFile(ctx context.Context, ref sandbox.Ref, name string, limit int64, w io.Writer) (int64, error) {
	var content bytes.Buffer
	err := r.within(ctx, "read", ref, name, func(root *os.Root, name string) error {
		if r.flaw != readsTwice {
			content.Reset()
		}
		stat, open := root.Stat, root.Open
		if r.flaw == leadsOut {
			stat = func(name string) (fs.FileInfo, error) { return os.Stat(path.Join(root.Name(), name)) }
			open = func(name string) (*os.File, error) { return os.Open(path.Join(root.Name(), name)) }
		}
		info, err := stat(name)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return errors.New("not a regular file")
		}
		if limit < 0 {
			return backend.ErrInvalid
		}
		if info.Size() > limit && r.flaw != ignoresLimit {
			return fmt.Errorf("%w: %d bytes", backend.ErrTooLarge, info.Size())
		}
		file, err := open(name)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		_, err = io.Copy(&content, file)
		return err
	})
	if err != nil {
		return 0, err
	}
	return io.Copy(w, &content)
}

func (r *reference) WriteFile(ctx context.Context, ref sandbox.Ref, name string, from io.Reader) error {
	content, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	return r.within(ctx, "write", ref, name, func(root *os.Root, name string) error {
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		if r.flaw == convertsLines {
			content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
		}
		return root.WriteFile(name, content, 0o644)
	})
}

func (r *reference) ListDirectory(ctx context.Context, ref sandbox.Ref, name string) (entries []backend.Entry, err error) {
	err = r.within(ctx, "ls", ref, name, func(root *os.Root, name string) error {
		children, err := fs.ReadDir(root.FS(), name)
		if err != nil {
			return err
		}
		entries = nil
		for _, child := range children {
			directory := child.IsDir()
			if info, err := root.Stat(path.Join(name, child.Name())); err == nil && r.flaw == followsLinks {
				directory = info.IsDir()
			}
			entries = append(entries, backend.Entry{Name: child.Name(), Directory: directory})
		}
		return nil
	})
	return entries, err
}
