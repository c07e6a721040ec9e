// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	sdk "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
)

// goSteps are the recorded operations in the recorded order.
func goSteps(t *testing.T, r *recorder, s *Server, c *client) []step {
	ctx := c.ctx
	var app *sdk.App
	var image *sdk.Image
	var box, other, dead *sdk.Sandbox
	params := sdk.SandboxCreateParams{
		Name: "box-1", Workdir: "/workspace", Timeout: time.Hour, CPU: 0.25, MemoryMiB: 256, BlockNetwork: true,
		Tags: map[string]string{"airflow_owner": "dag/run", "k": "v"}, Env: map[string]string{"FOO": "bar"},
	}
	python := func() *sdk.Image { return c.Images.FromRegistry("python:3.12-slim", nil) }
	create := func(ctx context.Context, params sdk.SandboxCreateParams) (*sdk.Sandbox, error) {
		return c.Sandboxes.Create(ctx, app, image, &params)
	}
	exec := func(box *sdk.Sandbox, timeout time.Duration, argv ...string) string {
		d, err := c.exec(box, argv, &sdk.SandboxExecParams{Timeout: timeout})
		return saw(err, "%v", d)
	}
	count := func(params *sdk.SandboxListParams) string {
		n := 0
		boxes, err := c.Sandboxes.List(ctx, params)
		if err != nil {
			return saw(err, "")
		}
		for _, err := range boxes {
			if err != nil {
				return saw(err, "")
			}
			n++
		}
		return fmt.Sprint(n)
	}
	kept := func(params sdk.SandboxCreateParams) string {
		made, err := create(ctx, params)
		if err != nil {
			return saw(err, "")
		}
		other = made
		return made.SandboxID
	}

	return []step{
		{name: "app_missing", do: func() string {
			_, err := c.Apps.FromName(ctx, "nope", nil)
			return saw(err, "")
		}},
		{name: "app", do: func() string {
			app = c.app()
			return app.AppID
		}},
		{name: "image_from_id_missing", do: func() string {
			_, err := c.Images.FromID(ctx, "im-0123456789012345678901", nil)
			return saw(err, "")
		}},
		{name: "image_build", prepare: func() { s.opts.BuildTime = 20 * time.Millisecond }, do: func() string {
			built, err := python().DockerfileCommands([]string{"RUN pip install pandas"}, nil).Build(ctx, app, nil)
			if err != nil {
				return saw(err, "")
			}
			return built.ImageID
		}},
		{name: "image_build_fail", do: func() string {
			_, err := c.Images.FromRegistry("bad", nil).Build(ctx, app, nil)
			return saw(err, "")
		}},
		{name: "create", do: func() string {
			s.opts.BuildTime = 0
			image = python()
			var err error
			box, err = create(ctx, params)
			if err != nil {
				t.Fatal(err)
			}
			return box.SandboxID
		}},
		{name: "exec", do: func() string {
			return exec(box, 20*time.Second, "sh", "-c", "echo hi $FOO; pwd; echo e >&2; exit 3")
		}},
		{name: "exec_deadline", do: func() string {
			return exec(box, 2*time.Second, "sh", "-c", "echo a; sleep 30")
		}},
		{name: "exec_selfkill", do: func() string {
			return exec(box, 20*time.Second, "sh", "-c", "kill -9 $$")
		}},
		{name: "exec_stdin", do: func() string {
			process, err := box.Exec(ctx, []string{"cat"}, nil)
			if err != nil {
				return saw(err, "")
			}
			_, _ = process.Stdin.Write([]byte("abc"))
			_ = process.Stdin.Close()
			out, _ := io.ReadAll(process.Stdout)
			code, err := process.Wait(ctx, nil)
			return saw(err, "%q %d", out, code)
		}},
		{name: "fs_write", do: func() string {
			return saw(box.Filesystem.WriteText(ctx, "hello", "/workspace/d/a.txt", nil), "<nil>")
		}},
		{name: "fs_read", do: func() string {
			text, err := box.Filesystem.ReadText(ctx, "/workspace/d/a.txt", nil)
			return saw(err, "%s", text)
		}},
		// The user inside has another name.
		{name: "fs_list", saw: "[{Name:d Path:/workspace/d Type:directory Size:4096 Mode:493 Permissions:drwxr-xr-x Owner:sandbox Group:sandbox ModifiedTime:<mtime> SymlinkTarget:<nil>}]",
			do: func() string {
				entries, err := box.Filesystem.ListFiles(ctx, "/workspace", nil)
				return saw(err, "%+v", entries)
			}},
		{name: "fs_stat_missing", do: func() string {
			_, err := box.Filesystem.Stat(ctx, "/workspace/none", nil)
			return saw(err, "")
		}},
		{name: "get_tags", do: func() string {
			tags, err := box.GetTags(ctx, nil)
			return saw(err, "%v", tags)
		}},
		{name: "set_tags", do: func() string {
			return saw(box.SetTags(ctx, map[string]string{"only": "1"}, nil), "<nil>")
		}},
		{name: "get_tags2", do: func() string {
			tags, err := box.GetTags(ctx, nil)
			return saw(err, "%v", tags)
		}},
		{name: "set_tags_empty", do: func() string { return saw(box.SetTags(ctx, nil, nil), "<nil>") }},
		{name: "get_tags3", do: func() string {
			tags, err := box.GetTags(ctx, nil)
			return saw(err, "%v", tags)
		}},
		{name: "netpolicy", do: func() string {
			return saw(box.UpdateNetworkPolicy(ctx, &sdk.SandboxUpdateNetworkPolicyParams{
				OutboundCIDRAllowlist: &sdk.Allowlist{Entries: []string{"203.0.113.0/24"}}, OutboundDomainAllowlist: &sdk.Allowlist{},
			}), "<nil>")
		}},
		{name: "create_dup", do: func() string {
			_, err := create(ctx, params)
			return saw(err, "")
		}},
		{name: "create_badcidr", do: func() string {
			_, err := create(ctx, sdk.SandboxCreateParams{OutboundCIDRAllowlist: &sdk.Allowlist{Entries: []string{"nope"}}})
			return saw(err, "")
		}},
		{name: "from_name", do: func() string {
			found, err := c.Sandboxes.FromName(ctx, "airflow-sandbox", "box-1", nil)
			if err != nil {
				return saw(err, "")
			}
			return found.SandboxID
		}},
		{name: "from_name_missing", do: func() string {
			_, err := c.Sandboxes.FromName(ctx, "airflow-sandbox", "none", nil)
			return saw(err, "")
		}},
		{name: "exec_attached", do: func() string {
			attached, err := c.Sandboxes.FromID(ctx, box.SandboxID, nil)
			if err != nil {
				return saw(err, "")
			}
			return exec(attached, 0, "echo", "x")
		}},
		{name: "list", prepare: func() {
			for range 3 {
				kept(sdk.SandboxCreateParams{Tags: map[string]string{"grp": "l"}, Timeout: 10 * time.Minute})
			}
		}, do: func() string { return count(&sdk.SandboxListParams{AppID: app.AppID}) }},
		{name: "list_env", do: func() string {
			return count(&sdk.SandboxListParams{Environment: "main", Tags: map[string]string{"grp": "l"}})
		}},
		// The record's page held four.
		{name: "raw_captured_list", saw: `3 first: <sandbox> name="" created=<unix> timeout=600 tags=[grp=l]`, do: func() string {
			reply, err := c.raw().SandboxListV2(ctx, pb.SandboxListRequest_builder{AppId: app.AppID, IncludeFinished: true}.Build())
			if err != nil {
				return saw(err, "")
			}
			first := reply.GetSandboxes()[0]
			tag := first.GetTags()[0]
			return fmt.Sprintf("%d first: %s name=%q created=%v timeout=%d tags=[%s=%s]", len(reply.GetSandboxes()),
				first.GetId(), first.GetName(), first.GetCreatedAt(), first.GetTimeoutSecs(), tag.GetTagName(), tag.GetTagValue())
		}},
		{name: "poll_running", do: func() string {
			code, err := box.Poll(ctx, nil)
			return saw(err, "%v", code == nil)
		}},
		{name: "terminate", do: func() string {
			code, err := box.Terminate(ctx, nil)
			return saw(err, "%d", code)
		}},
		{name: "poll_lag", do: func() string {
			code, err := box.Poll(ctx, nil)
			return saw(err, "nil=%v", code == nil)
		}},
		{name: "exec_after_term", do: func() string { return exec(box, 0, "echo", "x") }},
		{name: "exec_after_term_fresh", do: func() string {
			fresh, err := c.Sandboxes.FromID(ctx, box.SandboxID, nil)
			if err != nil {
				return saw(err, "")
			}
			return exec(fresh, 0, "echo", "x")
		}},
		{name: "fs_after_term", do: func() string {
			_, err := box.Filesystem.ReadText(ctx, "/x", nil)
			return saw(err, "")
		}},
		{name: "wait", do: func() string {
			code, err := box.Wait(ctx, nil)
			return saw(err, "%d", code)
		}},
		{name: "poll_after", do: func() string {
			code, err := box.Poll(ctx, nil)
			if err != nil || code == nil {
				return saw(err, "running")
			}
			return fmt.Sprint(*code)
		}},
		{name: "terminate_again", do: func() string {
			code, err := box.Terminate(ctx, nil)
			return saw(err, "%d", code)
		}},
		{name: "set_tags_after", do: func() string {
			return saw(box.SetTags(ctx, map[string]string{"z": "1"}, nil), "<nil>")
		}},
		{name: "term_unknown", do: func() string {
			var err error
			if dead, err = c.Sandboxes.FromID(ctx, "sb-01JZZZZZZZZZZZZZZZZZZZZZZZ", nil); err != nil {
				return saw(err, "")
			}
			_, err = dead.Terminate(ctx, nil)
			return saw(err, "")
		}},
		{name: "get_tags_unknown", do: func() string {
			_, err := dead.GetTags(ctx, nil)
			return saw(err, "")
		}},
		{name: "create_timeout_1s", do: func() string {
			kept(sdk.SandboxCreateParams{Timeout: time.Second})
			code, err := other.Wait(ctx, nil)
			return saw(err, "%d", code)
		}},
		{name: "terminate_wait", do: func() string {
			kept(sdk.SandboxCreateParams{Timeout: time.Minute})
			code, err := other.Terminate(ctx, &sdk.SandboxTerminateParams{Wait: true})
			return saw(err, "%d", code)
		}},
		{name: "kill_during_exec", do: func() string {
			kept(sdk.SandboxCreateParams{Timeout: time.Minute})
			process, err := other.Exec(ctx, []string{"sh", "-c", "echo before; sleep 30"}, nil)
			if err != nil {
				return saw(err, "")
			}
			first := make([]byte, len("before\n"))
			if _, err := io.ReadFull(process.Stdout, first); err != nil {
				return saw(err, "")
			}
			ended := make(chan done, 1)
			go func() { ended <- c.follow(process) }()
			r.until(map[string]int{"TaskExecStdioRead": 2, "TaskExecWait": 1})
			_, err = other.Terminate(ctx, nil)
			d := <-ended
			d.out = string(first) + d.out
			return saw(err, "%v", d)
		}},
		{name: "throttled_create", prepare: func() {
			s.Fail("SandboxCreate", Fault{Code: codes.ResourceExhausted, RetryAfter: 50 * time.Millisecond, Times: 2})
			s.Fail("SandboxCreateV2", Fault{Code: codes.ResourceExhausted, RetryAfter: 50 * time.Millisecond, Times: 2})
		}, do: func() string { return kept(sdk.SandboxCreateParams{}) }},
		{name: "exhausted_create", prepare: func() {
			s.Heal()
			s.Fail("SandboxCreate", Fault{Code: codes.ResourceExhausted})
			s.Fail("SandboxCreateV2", Fault{Code: codes.ResourceExhausted})
		}, do: func() string { return kept(sdk.SandboxCreateParams{}) }},
		{name: "unavailable_create", prepare: func() {
			s.Heal()
			s.Fail("SandboxCreate", Fault{Code: codes.Unavailable})
			s.Fail("SandboxCreateV2", Fault{Code: codes.Unavailable})
		}, do: func() string { return kept(sdk.SandboxCreateParams{}) }},
		{name: "create_ctx_deadline", prepare: func() {
			s.Heal()
			s.Fail("SandboxCreate", Fault{After: true, Delay: time.Minute})
			s.Fail("SandboxCreateV2", Fault{After: true, Delay: time.Minute})
		}, do: func() string {
			short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
			defer cancel()
			_, err := create(short, sdk.SandboxCreateParams{Name: "late"})
			s.Heal()
			if _, err := c.Sandboxes.FromName(ctx, "airflow-sandbox", "late", nil); err != nil {
				t.Errorf("the sandbox of a create that was given up: %v", err)
			}
			return saw(err, "")
		}},
		{name: "image_build_cached_result", do: func() string {
			built, err := python().Build(ctx, app, nil)
			if err != nil {
				return saw(err, "")
			}
			image = built
			return built.ImageID
		}},
		{name: "image_publish", do: func() string {
			return saw(image.Publish(ctx, "analysis:v1", nil), "<nil>")
		}},
		{name: "image_from_name", do: func() string {
			found, err := c.Images.FromName(ctx, "analysis:v1", nil)
			if err != nil {
				return saw(err, "")
			}
			return found.ImageID
		}},
		{name: "image_from_id", do: func() string {
			found, err := c.Images.FromID(ctx, image.ImageID, nil)
			if err != nil {
				return saw(err, "")
			}
			return found.ImageID
		}},
		{name: "image_delete", do: func() string {
			return saw(c.Images.Delete(ctx, image.ImageID, nil), "<nil>")
		}},
		{name: "image_delete_again", do: func() string {
			return saw(c.Images.Delete(ctx, image.ImageID, nil), "<nil>")
		}},
		{name: "environments_list", do: func() string {
			n := 0
			environments, err := c.Environments.Objects.List(ctx)
			for _, each := range environments {
				err, n = each, n+1
			}
			return saw(err, "%d", n)
		}},
		{name: "apps_list", do: func() string {
			environment, err := c.Environments.FromName(ctx, "main", nil)
			if err != nil {
				return saw(err, "")
			}
			n := 0
			apps, err := environment.Apps.List(ctx)
			for _, each := range apps {
				err, n = each, n+1
			}
			return saw(err, "%d", n)
		}},
		// The record's server gave no information.
		{name: "app_info", saw: "airflow-sandbox deployed", do: func() string {
			info, err := app.Info(ctx, &sdk.AppInfoParams{Refresh: true})
			if err != nil {
				return saw(err, "")
			}
			return fmt.Sprintf("%s %s", info.Description, info.Lifecycle.State)
		}},
		{name: "secret_from_name", do: func() string {
			_, err := c.Secrets.FromName(ctx, "reg", nil)
			return saw(err, "ok")
		}},
		{name: "create_unbuilt_two_layers", do: func() string {
			image = c.Images.FromRegistry("a", nil).DockerfileCommands([]string{"RUN x"}, nil)
			_, err := create(ctx, sdk.SandboxCreateParams{})
			return saw(err, "true")
		}},
		{name: "entrypoint", do: func() string {
			kept(sdk.SandboxCreateParams{Command: []string{"sh", "-c", "echo ep; exit 4"}})
			out, readErr := io.ReadAll(other.Stdout)
			code, err := other.Wait(ctx, nil)
			return saw(err, "%q %v %d", out, readErr, code)
		}},
		{name: "exec_scheme_http", prepare: func() { s.opts.RouterScheme = "http" }, do: func() string {
			kept(sdk.SandboxCreateParams{})
			return exec(other, 0, "echo", "x")
		}},
		{name: "raw_app_stop", do: func() string {
			_, err := c.raw().AppStop(ctx, pb.AppStopRequest_builder{AppId: app.AppID}.Build())
			return saw(err, "ok")
		}},
		{name: "bad_token", do: func() string {
			wrong, err := sdk.NewClientWithOptions(&sdk.ClientParams{TokenID: s.Token().ID, TokenSecret: "as-wrong"})
			if err != nil {
				return saw(err, "")
			}
			defer wrong.Close()
			_, err = wrong.Apps.FromName(ctx, "airflow-sandbox", nil)
			return saw(err, "")
		}},
	}
}
