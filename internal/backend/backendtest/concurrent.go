// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// workers is how many use one backend at once.
const workers = 8

// testConcurrentUse is worth most under the race detector.
func testConcurrentUse(t *testing.T, p *place) {
	reqs := make([]backend.Request, workers)
	lives := make([]error, workers)
	var all sync.WaitGroup
	for i := range workers {
		reqs[i] = p.request(p.spec(), foreign)
		all.Go(func() { lives[i] = p.live(t.Context(), reqs[i]) })
	}
	all.Wait()

	t.Run("many lives at once do not disturb each other", func(t *testing.T) {
		for i, err := range lives {
			if err != nil {
				t.Errorf("sandbox %d: %v", i, err)
			}
		}
	})
	t.Run("nothing is left of them", func(t *testing.T) {
		for _, req := range reqs {
			p.wantNothing(t, req.Mark)
		}
	})
	t.Run("one sandbox runs many commands at once", func(t *testing.T) {
		ref := p.create(t, nil).Ref
		for i := range workers {
			all.Go(func() {
				cmd := backend.Command{Argv: []string{"sh", "-c", "cat; sleep 0.2"}, Stdin: strings.NewReader(fmt.Sprint(i)), Timeout: commandTimeout}
				if got, err := p.Exec(t.Context(), ref, cmd); err != nil || string(got.Stdout) != fmt.Sprint(i) {
					t.Errorf("command %d printed %q, %v", i, got.Stdout, err)
				}
			})
		}
		all.Wait()
	})
	t.Run("one sandbox can be destroyed by many at once", func(t *testing.T) {
		doomed := p.create(t, nil).Ref
		for range workers {
			all.Go(func() {
				if err := p.Destroy(t.Context(), doomed); err != nil {
					t.Errorf("Destroy: %v", err)
				}
			})
		}
		all.Wait()
		p.gone(t, doomed)
	})
}

// live is one life from create to destroy, with everything between.
func (p *place) live(ctx context.Context, req backend.Request) (err error) {
	made, err := backend.Create(ctx, p.Backend, req)
	if err != nil {
		return err
	}
	defer func() {
		if destroyErr := p.Destroy(context.WithoutCancel(ctx), made.Ref); err == nil {
			err = destroyErr
		}
	}()
	if err := p.WriteFile(ctx, made.Ref, p.in("mark"), strings.NewReader(req.Mark)); err != nil {
		return err
	}
	result, err := p.Exec(ctx, made.Ref, backend.Command{Argv: []string{"cat", "mark"}, Timeout: commandTimeout})
	if err != nil {
		return err
	}
	if string(result.Stdout) != req.Mark {
		return fmt.Errorf("cat printed %q, want %q", result.Stdout, req.Mark)
	}
	if _, err := drain(p.List(ctx)); err != nil {
		return err
	}
	if p.caps.Tags != backend.TagsEditable {
		return nil
	}
	if err := backend.EditTags(ctx, p.Backend, made.Ref, func(tags sandbox.Tags) { tags["worker"] = req.Mark }); err != nil {
		return err
	}
	got, err := p.Get(ctx, made.Ref)
	if err == nil && (got.Tags["worker"] != req.Mark || len(got.Tags) != len(req.Tags)+1) {
		err = fmt.Errorf("the tags are %q", got.Tags)
	}
	return err
}
