// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// testLostReplies loses each call of each operation once.
func testLostReplies(t *testing.T, p *place) {
	for when, loss := range losses {
		t.Run("create is resolved by its mark/"+when, func(t *testing.T) { testLostCreate(t, p, loss) })
		t.Run("destroy ends in a sandbox that is gone/"+when, func(t *testing.T) { testLostDestroy(t, p, loss) })
		t.Run("an edit of tags loses no foreign key/"+when, func(t *testing.T) { testLostEdit(t, p, loss) })
	}
	ref := p.create(t, nil).Ref
	for when, loss := range losses {
		t.Run("a command never runs twice/"+when, func(t *testing.T) { testLostExec(t, p, ref, loss) })
		t.Run("a file is whole or the call fails/"+when, func(t *testing.T) { testLostFile(t, p, ref, loss) })
	}
}

func testLostCreate(t *testing.T, p *place, loss fault) {
	before := p.leftovers(t)
	p.everyCall(t, func(broken func(attempt func())) {
		req := p.request(p.spec(), nil)
		var made sandbox.Sandbox
		var err error
		broken(func() { made, err = backend.Create(t.Context(), p.Backend, req) })
		p.wantOneOrNothing(t, req, made, err)
	}, loss)
	p.wantNoNewLeftovers(t, before)
}

// wantOneOrNothing fails unless a create call that ended in made or err left
// exactly that, and removes it.
func (p *place) wantOneOrNothing(t *testing.T, req backend.Request, made sandbox.Sandbox, err error) {
	t.Helper()
	if err != nil {
		if errors.Is(err, backend.ErrUnknownOutcome) {
			t.Errorf("Create could have found out, but says: %v", err)
		}
		p.wantNothing(t, req.Mark)
		return
	}
	if !p.eventually(t, func() bool { return len(p.alive(t, req.Mark)) == 1 }) {
		t.Errorf("Create made %s; under its mark live %+v", made.Handle, p.alive(t, req.Mark))
	}
	if got := p.get(t, made.Ref); got.State != sandbox.Running {
		t.Errorf("created %s is %v, want running", made.Handle, got.State)
	}
	p.gone(t, made.Ref)
	p.wantNothing(t, req.Mark)
}

func testLostDestroy(t *testing.T, p *place, loss fault) {
	p.everyCall(t, func(broken func(func())) {
		doomed := p.create(t, nil).Ref
		broken(func() {
			if err := p.Destroy(t.Context(), doomed); err != nil {
				t.Errorf("Destroy with one call lost: %v", err)
			}
		})
		p.gone(t, doomed)
	}, loss)
}

func testLostEdit(t *testing.T, p *place, loss fault) {
	if p.caps.Tags != backend.TagsEditable {
		t.Skip("tags cannot be edited here")
	}
	made := p.create(t, foreign)
	want := p.get(t, made.Ref).Tags
	p.everyCall(t, func(broken func(func())) {
		mark := sandbox.NewMark()
		edit := func(tags sandbox.Tags) { tags[sandbox.TagProtect] = mark }
		var err error
		broken(func() { err = backend.EditTags(t.Context(), p.Backend, made.Ref, edit) })
		if err != nil {
			p.edit(t, made.Ref, edit)
		}
		want[sandbox.TagProtect] = mark
		p.wantTags(t, made.Ref, want)
	}, loss)
}

func testLostExec(t *testing.T, p *place, ref sandbox.Ref, loss fault) {
	p.everyCall(t, func(broken func(func())) {
		p.sh(t, ref, "rm -f runs; : > runs")
		cmd := backend.Command{Argv: []string{"sh", "-c", "echo ran >> runs; echo out"}, Timeout: commandTimeout}
		var got backend.Result
		var err error
		broken(func() { got, err = p.Exec(t.Context(), ref, cmd) })
		if err == nil && (got.ExitCode != 0 || string(got.Stdout) != "out\n") {
			t.Errorf("exit code %d, stdout %q; want 0, out, or an error", got.ExitCode, got.Stdout)
		}
		if runs := strings.Count(string(p.read(t, ref, p.in("runs"))), "ran"); runs > 1 || err == nil && runs == 0 {
			t.Errorf("the command ran %d times; error: %v", runs, err)
		}
	}, loss)
}

func testLostFile(t *testing.T, p *place, ref sandbox.Ref, loss fault) {
	content := bytes.Repeat(everyByte, 256)
	p.everyCall(t, func(broken func(func())) {
		path := p.in("lost-" + sandbox.NewMark())
		var err error
		broken(func() { err = p.WriteFile(t.Context(), ref, path, bytes.NewReader(content)) })
		if err != nil {
			p.write(t, ref, path, content)
		}
		if got := p.read(t, ref, path); !bytes.Equal(got, content) {
			t.Errorf("WriteFile: %d bytes written, other %d read; error: %v", len(content), len(got), err)
		}
	}, loss)
	p.write(t, ref, p.in("whole"), content)
	p.everyCall(t, func(broken func(func())) {
		var got bytes.Buffer
		var err error
		broken(func() { _, err = p.ReadFile(t.Context(), ref, p.in("whole"), 1<<20, &got) })
		if err == nil && !bytes.Equal(got.Bytes(), content) {
			t.Errorf("ReadFile: other %d bytes read than the %d written", got.Len(), len(content))
		}
	}, loss)
}

// testGivenUp cancels the caller's context around each call of a create.
func testGivenUp(t *testing.T, p *place) {
	before := p.leftovers(t)
	for when, giveUp := range map[string]func(context.CancelFunc) fault{
		"before a call": func(cancel context.CancelFunc) fault {
			return func(ctx context.Context, _ backend.Call, do attempt) error {
				cancel()
				return do(ctx)
			}
		},
		"after a call": func(cancel context.CancelFunc) fault {
			return func(ctx context.Context, _ backend.Call, do attempt) error {
				err := do(ctx)
				cancel()
				return errors.Join(err, ctx.Err())
			}
		},
	} {
		t.Run("a create given up "+when+" leaves nothing", func(t *testing.T) {
			var marks []string
			for n := range mostCalls {
				req := p.request(p.spec(), nil)
				marks = append(marks, req.Mark)
				ctx, cancel := context.WithCancel(t.Context())
				var made sandbox.Sandbox
				var err error
				happened := p.faults.at(n, giveUp(cancel), func() { made, err = backend.Create(ctx, p.Backend, req) })
				cancel()
				p.wantOneOrNothing(t, req, made, err)
				if !happened {
					break
				}
				if err != nil {
					wantError(t, "Create", err, context.Canceled)
				}
			}
			for _, mark := range marks {
				p.wantNothing(t, mark) // nor has anything turned up since
			}
			p.wantNoNewLeftovers(t, before)
		})
	}
	t.Run("a create given up beforehand makes no call", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		req := p.request(p.spec(), nil)
		_, err := backend.Create(ctx, p.Backend, req)
		wantError(t, "Create", err, context.Canceled)
		p.wantNothing(t, req.Mark)
	})
}

// testBrokenConnection breaks every call, and wants the class to come through.
func testBrokenConnection(t *testing.T, p *place) {
	req := p.request(p.spec(), nil)
	made := p.createFrom(t, req)
	p = open(t, p.Factory, func(c *backend.Caller) { c.MaxRetries = -1 })
	for _, class := range []error{backend.ErrUnauthorized, backend.ErrUnavailable} {
		p.faults.set(func(context.Context, backend.Call, attempt) error { return class })
		uses := p.tools(made.Ref)
		maps.Copy(uses, map[string]func(context.Context) error{
			"Check":   func(ctx context.Context) error { _, err := p.Check(ctx); return err },
			"List":    func(ctx context.Context) error { _, err := drain(p.List(ctx)); return err },
			"Get":     func(ctx context.Context) error { _, err := p.Get(ctx, made.Ref); return err },
			"Find":    func(ctx context.Context) error { _, err := p.Find(ctx, req.Mark); return err },
			"Destroy": func(ctx context.Context) error { return p.Destroy(ctx, made.Ref) },
		})
		for what, use := range uses {
			t.Run(class.Error()+" is never taken for gone/"+what, func(t *testing.T) {
				err := use(t.Context())
				wantError(t, what, err, class)
				if errors.Is(err, backend.ErrNotFound) {
					t.Errorf("%s = %v, which says that the sandbox is gone", what, err)
				}
			})
		}
	}
	p.faults.set(nil)
	if got := p.get(t, made.Ref); got.State != sandbox.Running {
		t.Errorf("afterwards the sandbox is %v, want running", got.State)
	}
}
