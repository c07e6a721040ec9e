// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
	sandboxprovider "github.com/taskowned/terraform-provider-sandbox/internal/provider"
)

// This test binary is also a provider binary: started under its name, it serves
// the real provider in a process of its own, which can be killed.
const binary = "terraform-provider-sandbox"

// What a provider process is told by its environment.
const (
	killAtVariable = "SANDBOX_TEST_KILL_AT" // N, N+ or VERB+: SIGKILL before or after the effect of the Nth call of the run, or after that of a verb
	hangAtVariable = "SANDBOX_TEST_HANG_AT" // VERB: that call takes effect, traces "hangs", and answers when its context ends
	traceVariable  = "SANDBOX_TEST_TRACE"   // a file to which every call's verb is appended
	idleVariable   = "SANDBOX_TEST_IDLE"    // set: reading an instance does nothing
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != binary {
		os.Exit(withModal(m.Run))
	}
	caller := &backend.Caller{Intercept: interceptProcess()}
	serve := sandboxprovider.New("test", clock.System(), connect.Options{Caller: caller})
	if os.Getenv(idleVariable) != "" {
		serve = func(next func() provider.Provider) func() provider.Provider {
			return func() provider.Provider { return idleProvider{next()} }
		}(serve)
	}
	if err := providerserver.Serve(context.Background(), serve, providerserver.ServeOpts{Address: "example.test/taskowned/sandbox"}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func interceptProcess() func(context.Context, backend.Call, func(context.Context) error) error {
	killAt, hangAt := os.Getenv(killAtVariable), os.Getenv(hangAtVariable)
	return func(ctx context.Context, call backend.Call, attempt func(context.Context) error) error {
		trace(call.Verb)
		number := ""
		if killAt != "" {
			number = tracedCalls()
		}
		if killAt != "" && killAt == number {
			kill()
		}
		err := attempt(ctx)
		if killAt == number+"+" || killAt == call.Verb+"+" {
			kill()
		}
		if hangAt == call.Verb {
			trace("hangs")
			<-ctx.Done()
			return ctx.Err()
		}
		return err
	}
}

func kill() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func trace(verb string) {
	name := os.Getenv(traceVariable)
	if name == "" {
		return
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer file.Close()
	fmt.Fprintln(file, verb)
}

// tracedCalls returns how many calls all the processes of a run have traced.
func tracedCalls() string {
	traced, _ := os.ReadFile(os.Getenv(traceVariable))
	return strconv.Itoa(bytes.Count(traced, []byte("\n")))
}

// workspace is a directory with a configuration, for the terraform command.
type workspace struct {
	*world
	path string
	env  []string
}

func (w *world) workspace(config string) *workspace {
	w.t.Helper()
	path, bin := w.t.TempDir(), w.t.TempDir()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, binary)); err != nil {
		w.t.Fatal(err)
	}
	write(w.t, filepath.Join(path, "terraform.rc"), fmt.Appendf(nil,
		"provider_installation {\n  dev_overrides {\n    %q = %q\n  }\n}\n", sandboxprovider.Address, bin))
	ws := &workspace{world: w, path: path}
	ws.env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(path, "terraform.rc"),
		"TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1", traceVariable+"="+ws.traceFile())
	ws.configure(config)
	return ws
}

func (ws *workspace) traceFile() string { return filepath.Join(ws.path, "trace") }

func (ws *workspace) configure(config string) {
	ws.t.Helper()
	head := "terraform {\n  required_providers {\n    sandbox = { source = \"" + sandboxprovider.Address + "\" }\n  }\n}\n"
	write(ws.t, filepath.Join(ws.path, "main.tf"), []byte(head+ws.head+config))
}

func (ws *workspace) command(env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(terraformPath(), args...)
	cmd.Dir = ws.path
	cmd.Env = append(ws.env, env...)
	return cmd
}

// terraformPath is where plugin-testing looks, too.
func terraformPath() string {
	if path := os.Getenv("TF_ACC_TERRAFORM_PATH"); path != "" {
		return path
	}
	return "terraform"
}

// terraform runs the command and returns what it said and its exit code.
func (ws *workspace) terraform(env []string, args ...string) (output string, code int) {
	ws.t.Helper()
	out, err := ws.command(env, append(args, "-no-color")...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ws.t.Fatal(err)
	}
	if exit != nil {
		code = exit.ExitCode()
	}
	return string(out), code
}

// must runs the command, which must exit with 0.
func (ws *workspace) must(args ...string) string {
	ws.t.Helper()
	out, code := ws.terraform(nil, args...)
	if code != 0 {
		ws.t.Fatalf("terraform %s: exit %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

func (ws *workspace) apply() { ws.t.Helper(); ws.must("apply", "-auto-approve") }

// quiet demands that nothing is to be done: exit 0 of -detailed-exitcode.
func (ws *workspace) quiet() { ws.t.Helper(); ws.must("plan", "-detailed-exitcode") }

// handle is that of sandbox_instance.it, as the state has it.
func (ws *workspace) handle() string {
	ws.t.Helper()
	data, err := os.ReadFile(filepath.Join(ws.path, "terraform.tfstate"))
	if err != nil {
		ws.t.Fatal(err)
	}
	var state struct {
		Resources []struct {
			Type, Name string
			Instances  []struct{ Attributes struct{ Handle string } }
		}
	}
	if err := json.Unmarshal(data, &state); err != nil {
		ws.t.Fatal(err)
	}
	for _, resource := range state.Resources {
		if resource.Type+"."+resource.Name == it && len(resource.Instances) == 1 {
			return resource.Instances[0].Attributes.Handle
		}
	}
	ws.t.Fatalf("%s is not in the state:\n%s", it, data)
	return ""
}

// traced returns the verbs called since the last time.
func (ws *workspace) traced() []string {
	ws.t.Helper()
	data, err := os.ReadFile(ws.traceFile())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		ws.t.Fatal(err)
	}
	_ = os.Remove(ws.traceFile())
	return strings.Fields(string(bytes.TrimSpace(data)))
}

func TestStateOfANewerProviderIsAnErrorAndLosesNothing(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace(w.instance())
	ws.apply()
	file := filepath.Join(ws.path, "terraform.tfstate")
	state, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.ReplaceAll(state, []byte(`"schema_version": 0`), []byte(`"schema_version": 9`))
	write(t, file, newer)
	out, code := ws.terraform(nil, "apply", "-auto-approve")
	if code != 1 || !strings.Contains(out, "newer provider version") {
		t.Errorf("exit %d: %s", code, out)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, newer) {
		t.Errorf("the state was touched: %v", err)
	}
	w.only()
}

func TestLostConnectionIsMadeAnewByTheCommandInItsError(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace(fmt.Sprintf("resource \"sandbox_connection\" \"here\" {\n  local = { directory = %q }\n}\n", w.dir))
	ws.apply()
	rename(t, w.dir, w.dir+".lost")
	out, code := ws.terraform(nil, "plan")
	if command := "terraform apply -refresh=false -replace=ADDRESS"; code != 1 || !strings.Contains(strings.Join(strings.Fields(out), " "), command) {
		t.Fatalf("exit %d: %s", code, out)
	}
	ws.must("apply", "-auto-approve", "-refresh=false", "-replace=sandbox_connection.here")
	ws.quiet()
}
