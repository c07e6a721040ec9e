// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// item is a sandbox of a list: its number, and when it was made, in
// milliseconds.
type item struct{ id, at int }

// server answers as Modal's list does: newest first, strictly older than asked,
// so many at most.
func server(items []item, size int) func(before float64) []*pb.SandboxInfo {
	return func(before float64) []*pb.SandboxInfo {
		var page []*pb.SandboxInfo
		for _, i := range items {
			at := 1_796_000_000 + float64(i.at)/1000
			if len(page) < size && (before == 0 || at < before) {
				page = append(page, pb.SandboxInfo_builder{Id: fmt.Sprint(i.id), CreatedAt: at}.Build())
			}
		}
		return page
	}
}

// walk pages through a list and counts the calls.
func walk(t *testing.T, list func(float64) []*pb.SandboxInfo) (ids []string, calls int, err error) {
	t.Helper()
	for p := (paging{}); !p.done; {
		if calls++; calls > 1000 {
			t.Fatal("the listing does not end")
		}
		fresh, err := p.take(list(p.before))
		if err != nil {
			return ids, calls, err
		}
		for _, info := range fresh {
			ids = append(ids, info.GetId())
		}
	}
	return ids, calls, nil
}

func TestEqualTimesAtAPageEdgeLoseNothing(t *testing.T) {
	for name, ats := range map[string][]int{
		"none":                   {},
		"one":                    {5},
		"all different":          {9, 8, 7, 6, 5, 4, 3, 2, 1},
		"a pair across the edge": {9, 8, 7, 7, 6, 5, 4},
		"pairs everywhere":       {9, 9, 8, 8, 7, 7, 6, 6, 5, 5},
		"a pair at the end":      {9, 8, 7, 6, 6},
		"an edge at the end":     {9, 8, 7},
		"two equal":              {7, 7},
	} {
		for size := 3; size < 12; size++ {
			t.Run(fmt.Sprintf("%s/%d a page", name, size), func(t *testing.T) {
				var items []item
				var want []string
				for id, at := range ats {
					items = append(items, item{id, at})
					want = append(want, fmt.Sprint(id))
				}
				got, _, err := walk(t, server(items, size))
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("listed %v, %v; want %v", got, err, want)
				}
			})
		}
	}
}

func TestMoreEqualTimesThanAPageHoldsIsAnErrorAndNotALoss(t *testing.T) {
	items := []item{{0, 9}, {1, 5}, {2, 5}, {3, 5}, {4, 5}, {5, 5}, {6, 1}}
	ids, _, err := walk(t, server(items, 3))
	if !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("listed %v, %v; want an error", ids, err)
	}
}

func TestAShortPageDoesNotEndAListing(t *testing.T) {
	full := server([]item{{0, 9}, {1, 8}, {2, 7}, {3, 6}, {4, 5}}, 3)
	calls := 0
	ids, _, err := walk(t, func(before float64) []*pb.SandboxInfo {
		page := full(before)
		if calls++; calls == 1 {
			page = page[:1]
		}
		return page
	})
	if err != nil || len(ids) != 5 {
		t.Errorf("listed %v, %v; want all five", ids, err)
	}
}

func TestAShortPageLosesNothingAtItsEdge(t *testing.T) {
	full := server([]item{{0, 9}, {1, 8}, {2, 7}, {3, 6}, {4, 6}, {5, 5}, {6, 4}}, 3)
	calls := 0
	ids, _, err := walk(t, func(before float64) []*pb.SandboxInfo {
		page := full(before)
		if calls++; calls == 2 {
			page = page[:2] // 7 again, and one of the two at 6
		}
		return page
	})
	if err != nil || len(ids) != 7 {
		t.Errorf("listed %v, %v; want all seven", ids, err)
	}
}

func TestEveryListIsCompleteOrAnError(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	listed := 0
	for range 5000 {
		size := 1 + random.IntN(7)
		var items []item
		var want []string
		most, ties, at := 1, 1, 1000
		for id := range random.IntN(40) {
			if id > 0 && random.IntN(3) == 0 {
				ties++
			} else {
				ties, at = 1, at-1
			}
			most = max(most, ties)
			items = append(items, item{id, at})
			want = append(want, fmt.Sprint(id))
		}
		if most == len(items) && most >= size {
			continue // all of one instant: a page may be full of it or may be all there is
		}
		got, _, err := walk(t, server(items, size))
		switch {
		case err == nil && size > 1 && !slices.Equal(got, want):
			t.Fatalf("%d a page of %v: listed %v, want all", size, items, got)
		case err != nil && most < size:
			t.Fatalf("%d a page of %v: %v, although no instant fills a page", size, items, err)
		case err == nil:
			listed++
		}
	}
	if listed < 1000 {
		t.Errorf("only %d of the lists were listed", listed)
	}
}

func TestAListThatGoesBackInTimeIsAnError(t *testing.T) {
	p := paging{}
	one := func(id string, at float64) []*pb.SandboxInfo {
		return []*pb.SandboxInfo{pb.SandboxInfo_builder{Id: id, CreatedAt: at}.Build()}
	}
	if _, err := p.take(one("a", 100)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.take(one("b", 200)); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("a newer page after an older one: %v, want unavailable", err)
	}
}

func TestAListingCostsItsPagesAndTheProofThatThereIsNoMore(t *testing.T) {
	var items []item
	for id := range 1000 {
		items = append(items, item{id, 1000 - id})
	}
	ids, calls, err := walk(t, server(items, 100))
	if err != nil || len(ids) != 1000 {
		t.Fatalf("listed %d, %v", len(ids), err)
	}
	if most := 11 + 1; calls > most { // one item of each page is asked for twice
		t.Errorf("%d calls, want at most %d", calls, most)
	}
}
