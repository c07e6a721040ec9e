// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// crowd lists many sandboxes, each made as it is listed, one in twenty dead. At
// the end it measures what is still held.
type crowd struct {
	backend.Backend // nil: the janitor calls nothing else

	size int
	held uint64 // bytes
}

func (c *crowd) Scope() string                      { return "crowd" }
func (c *crowd) Capabilities() backend.Capabilities { return backend.Capabilities{} }

func (c *crowd) List(context.Context) iter.Seq2[sandbox.Sandbox, error] {
	return func(yield func(sandbox.Sandbox, error) bool) {
		for i := range c.size {
			b := alive(fmt.Sprintf("box-%06d", i))
			if i%20 == 0 {
				b = dead(b.Handle)
			}
			b.Tags[airflow.TagOwner] = fmt.Sprintf("etl/scheduled__%06d", i)
			b.Tags[airflow.TagNetwork] = `{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":true}`
			if !yield(b, nil) {
				return
			}
		}
		c.held = live()
	}
}

func live() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func TestTenThousandSandboxesAreLetGoAsTheyAreListed(t *testing.T) {
	c := &crowd{size: 10_000}
	opts := Options{Store: NewMemory(), Clock: clock.NewFake(noon), Connections: []Connection{{Name: "crowd", Backend: c}}}
	before := live()
	result, err := Plan(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if counts := result.Connections[0].Counts; counts.Report != 500 || counts.Alive != 9500 {
		t.Errorf("counted %+v", counts)
	}
	// Five hundred suspects with their tags are less than a megabyte; ten
	// thousand would be more than nine.
	if held := int64(c.held) - int64(before); held > 3<<20 {
		t.Errorf("%d kB are held at the end of the listing", held>>10)
	}
}

// BenchmarkPlan plans over ten thousand sandboxes, five hundred to reclaim.
func BenchmarkPlan(b *testing.B) {
	opts := Options{Store: NewMemory(), Clock: clock.NewFake(noon), Connections: []Connection{{Name: "crowd", Backend: &crowd{size: 10_000}}}}
	for b.Loop() {
		began := clock.System().Now()
		if _, err := Plan(b.Context(), opts); err != nil {
			b.Fatal(err)
		}
		if took := clock.System().Now().Sub(began); took > 1500*time.Millisecond {
			b.Errorf("took %s", took)
		}
	}
}
