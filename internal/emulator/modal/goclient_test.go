// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	sdk "github.com/modal-labs/modal-client/go"
	"google.golang.org/grpc/status"
)

// TestGoClientMakesTheRecordedCallsAndSeesTheSame does again what the record
// has of Modal's Go client, on both generations.
func TestGoClientMakesTheRecordedCallsAndSeesTheSame(t *testing.T) {
	for generation, name := range map[Generations]string{V1: "go_v1", V2: "go_v2"} {
		t.Run(name, func(t *testing.T) {
			r := newRecorder()
			s := start(t, Options{
				Watch: r.watch, PageSize: 3, PollLag: time.Second, DeadlineReportDelay: time.Second, FailBuilds: []string{"FROM bad"},
			})
			s.AddSecret("reg", map[string]string{"REGISTRY_USERNAME": "u", "REGISTRY_PASSWORD": "p"})
			replay(t, r, recordedOperations(t, name), goSteps(t, r, s, s.client(t, generation)), map[string]string{
				"snapshot_fs":         "snapshots are not emulated",
				"raw_injected_client": "another connection in place of the client's own, which nobody here uses",
			})
		})
	}
}

// saw writes a result as the record does.
func saw(err error, format string, values ...any) string {
	if err != nil {
		return fmt.Sprintf("error %T, status.Code %s", err, status.Code(err))
	}
	return fmt.Sprintf(format, values...)
}

// done is how a command ended.
type done struct {
	code            int
	waitErr         error
	out, errs       string
	outErr, errsErr error
}

func (d done) String() string {
	return fmt.Sprintf("code=%d werr=%v(%T) out=%q oerr=%v err=%q eerr=%v", d.code, d.waitErr, d.waitErr, d.out, d.outErr, d.errs, d.errsErr)
}

// exec runs a command as the sheet of the SDK advises: wait while reading.
func (c *client) exec(box *sdk.Sandbox, argv []string, params *sdk.SandboxExecParams) (done, error) {
	process, err := box.Exec(c.ctx, argv, params)
	if err != nil {
		return done{}, err
	}
	return c.follow(process), nil
}

func (c *client) follow(process *sdk.ContainerProcess) done {
	var d done
	var all sync.WaitGroup
	all.Go(func() { d.code, d.waitErr = process.Wait(c.ctx, nil) })
	read := func(from io.Reader, text *string, err *error) {
		all.Go(func() {
			var data []byte
			data, *err = io.ReadAll(from)
			*text = string(data)
		})
	}
	read(process.Stdout, &d.out, &d.outErr)
	read(process.Stderr, &d.errs, &d.errsErr)
	all.Wait()
	return d
}
