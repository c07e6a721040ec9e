// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

// pages asks for every page as the clients do, and returns the ids on each.
func (c *client) pages(first *pb.SandboxListRequest, v2 bool) [][]string {
	c.t.Helper()
	var pages [][]string
	for {
		list := c.raw().SandboxListV2
		if !v2 {
			list = c.raw().SandboxList
		}
		reply, err := list(c.ctx, first)
		if err != nil {
			c.t.Fatal(err)
		}
		var ids []string
		for _, item := range reply.GetSandboxes() {
			ids = append(ids, item.GetId())
			first.SetBeforeTimestamp(item.GetCreatedAt())
		}
		pages = append(pages, ids)
		if len(ids) == 0 {
			return pages
		}
	}
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// seed puts n sandboxes of an hour's life into app, a second apart.
func seed(t *testing.T, s *Server, n int, each func(i int, seed *Seed)) []string {
	t.Helper()
	seeds := make([]Seed, n)
	for i := range seeds {
		seeds[i] = Seed{App: "a", Created: noon.Add(time.Duration(i) * time.Second), Timeout: time.Hour}
		if each != nil {
			each(i, &seeds[i])
		}
	}
	ids, err := s.Seed(seeds...)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func frozen(t *testing.T, opts Options) *Server {
	t.Helper()
	opts.Clock = clock.NewFake(noon.Add(10 * time.Minute))
	return start(t, opts)
}

func TestListIsNewestFirstAndEndsWithAnEmptyPage(t *testing.T) {
	s := frozen(t, Options{PageSize: 2})
	ids := seed(t, s, 4, nil)
	c := s.client(t, V2)
	c.app()
	got := c.pages(&pb.SandboxListRequest{}, true)
	if want := [][]string{{ids[3], ids[2]}, {ids[1], ids[0]}, nil}; !equalPages(got, want) {
		t.Errorf("pages %v, want %v", got, want)
	}
}

func equalPages(a, b [][]string) bool { return slices.EqualFunc(a, b, slices.Equal) }

func TestOldListHasTheFirstGenerationOnlyAndTheNewOneBoth(t *testing.T) {
	s := frozen(t, Options{})
	ids := seed(t, s, 2, func(i int, seed *Seed) { seed.Generation = []Generations{V1, V2}[i] })
	c := s.client(t, V2)
	c.app()
	if got := c.pages(&pb.SandboxListRequest{}, false); !equalPages(got, [][]string{{ids[0]}, nil}) {
		t.Errorf("SandboxList: %v", got)
	}
	if got := c.pages(&pb.SandboxListRequest{}, true); !equalPages(got, [][]string{{ids[1], ids[0]}, nil}) {
		t.Errorf("SandboxListV2: %v", got)
	}
}

func TestSandboxesThatShareATimestampAreLostAtAPageEdge(t *testing.T) {
	s := frozen(t, Options{PageSize: 2})
	ids := seed(t, s, 4, func(_ int, seed *Seed) { seed.Created = noon })
	c := s.client(t, V2)
	c.app()
	if got := c.pages(&pb.SandboxListRequest{}, true); !equalPages(got, [][]string{{ids[3], ids[2]}, nil}) {
		t.Errorf("pages %v", got)
	}
}

func TestTimestampsAreAsCoarseAsTold(t *testing.T) {
	s := start(t, Options{TimestampGranularity: time.Hour})
	c := s.client(t, V2)
	for range 2 {
		c.box(nil)
	}
	boxes := s.Sandboxes()
	if !boxes[0].Created.Equal(boxes[1].Created) || boxes[0].Created.Minute() != 0 {
		t.Errorf("created %v and %v", boxes[0].Created, boxes[1].Created)
	}
}

func TestListFiltersByAppEnvironmentAndEveryTag(t *testing.T) {
	s := frozen(t, Options{Environments: []string{"main", "staging"}})
	ids := seed(t, s, 4, func(i int, seed *Seed) {
		seed.Tags = map[string]string{"a": "1", "b": fmt.Sprint(i)}
		seed.App = []string{"a", "a", "b", "a"}[i]
		seed.Environment = []string{"main", "main", "main", "staging"}[i]
	})
	c := s.client(t, V2)
	app, err := c.Apps.FromName(c.ctx, "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	tag := func(name, value string) *pb.SandboxTag {
		return pb.SandboxTag_builder{TagName: name, TagValue: value}.Build()
	}
	for name, test := range map[string]struct {
		request pb.SandboxListRequest_builder
		want    []string
	}{
		"the default environment":    {pb.SandboxListRequest_builder{}, []string{ids[2], ids[1], ids[0]}},
		"an environment":             {pb.SandboxListRequest_builder{EnvironmentName: "staging"}, []string{ids[3]}},
		"an app":                     {pb.SandboxListRequest_builder{AppId: app.AppID}, []string{ids[1], ids[0]}},
		"the app wins":               {pb.SandboxListRequest_builder{AppId: app.AppID, EnvironmentName: "staging"}, []string{ids[1], ids[0]}},
		"one tag":                    {pb.SandboxListRequest_builder{Tags: []*pb.SandboxTag{tag("a", "1")}}, []string{ids[2], ids[1], ids[0]}},
		"two tags":                   {pb.SandboxListRequest_builder{Tags: []*pb.SandboxTag{tag("a", "1"), tag("b", "1")}}, []string{ids[1]}},
		"a tag that is another's":    {pb.SandboxListRequest_builder{Tags: []*pb.SandboxTag{tag("a", "2")}}, nil},
		"a tag's value is not asked": {pb.SandboxListRequest_builder{Tags: []*pb.SandboxTag{tag("a", "")}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, page := range c.pages(test.request.Build(), true) {
				got = append(got, page...)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
	for name, request := range map[string]pb.SandboxListRequest_builder{
		"environment": {EnvironmentName: "nope"}, "app": {AppId: "ap-nope"},
	} {
		if _, err := c.raw().SandboxListV2(c.ctx, request.Build()); status.Code(err) != codes.NotFound {
			t.Errorf("unknown %s: %v", name, err)
		}
	}
}

func TestListItemsTellAllThatIsKnownUnlessToldNotTo(t *testing.T) {
	for name, test := range map[string]struct {
		opts          Options
		tags, timeout bool
	}{
		"all":                       {Options{}, true, true},
		"no tags":                   {Options{ListWithoutTags: V1 | V2}, false, true},
		"no timeout":                {Options{ListWithoutTimeout: V2}, true, false},
		"another generation's lack": {Options{ListWithoutTags: V1, ListWithoutTimeout: V1}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := frozen(t, test.opts)
			id := seed(t, s, 1, func(_ int, seed *Seed) { seed.Name, seed.Tags = "n", map[string]string{"k": "v"} })[0]
			c := s.client(t, V2)
			c.app()
			reply, err := c.raw().SandboxListV2(c.ctx, &pb.SandboxListRequest{})
			if err != nil {
				t.Fatal(err)
			}
			item := reply.GetSandboxes()[0]
			if item.GetId() != id || item.GetName() != "n" || item.GetCreatedAt() != float64(noon.Unix()) {
				t.Errorf("item %v", item)
			}
			if got := len(item.GetTags()) == 1; got != test.tags {
				t.Errorf("tags %v", item.GetTags())
			}
			if got := item.GetTimeoutSecs() == 3600; got != test.timeout {
				t.Errorf("timeout %d", item.GetTimeoutSecs())
			}
		})
	}
}

func TestFinishedSandboxesAreListedOnRequestWhileTheyAreKept(t *testing.T) {
	s := frozen(t, Options{RetainFinished: time.Hour, PollLag: time.Minute})
	ids := seed(t, s, 2, nil)
	c := s.client(t, V2)
	c.app()
	if _, err := c.raw().SandboxTerminateV2(c.ctx, pb.SandboxTerminateRequest_builder{SandboxId: ids[0]}.Build()); err != nil {
		t.Fatal(err)
	}
	check := func(when string, running, all int) {
		t.Helper()
		if got := c.pages(&pb.SandboxListRequest{}, true); len(got[0]) != running {
			t.Errorf("%s: %d are listed as running, want %d", when, len(got[0]), running)
		}
		if got := c.pages(pb.SandboxListRequest_builder{IncludeFinished: true}.Build(), true); len(got[0]) != all {
			t.Errorf("%s: %d are listed, want %d", when, len(got[0]), all)
		}
	}
	check("at once", 2, 2)
	s.Advance(time.Minute)
	check("after the poll lag", 1, 2)
	s.Advance(time.Hour)
	check("after the other's end and the first one's retention", 0, 1)
	if _, err := c.raw().SandboxTagsGetV2(c.ctx, pb.SandboxTagsGetRequest_builder{SandboxId: ids[0]}.Build()); status.Code(err) != codes.NotFound {
		t.Errorf("a forgotten sandbox: %v", err)
	}
}

func TestTenThousandSandboxesNeedNoDirectoryAndNoProcess(t *testing.T) {
	s := frozen(t, Options{PageSize: 1000})
	seed(t, s, 10_000, func(i int, seed *Seed) { seed.Created = noon.Add(time.Duration(i) * time.Millisecond) })
	c := s.client(t, V2)
	c.app()
	n := 0
	for _, page := range c.pages(&pb.SandboxListRequest{}, true) {
		n += len(page)
	}
	if n != 10_000 {
		t.Errorf("%d are listed", n)
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("files: %v, %v", entries, err)
	}
}
