// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backend

import "testing"

func TestTailKeepsTheLastBytesHoweverTheyArrive(t *testing.T) {
	const whole = "0123456789abcdef"
	for chunk := 1; chunk <= len(whole); chunk++ {
		for limit := 1; limit <= len(whole)+1; limit++ {
			kept := &Tail{Limit: limit}
			for at := 0; at < len(whole); at += chunk {
				_, _ = kept.Write([]byte(whole[at:min(at+chunk, len(whole))]))
			}
			got, truncated := kept.Kept()
			if want := whole[max(0, len(whole)-limit):]; string(got) != want || truncated != (limit < len(whole)) {
				t.Errorf("chunks of %d, limit %d: %q, %v; want %q", chunk, limit, got, truncated, want)
			}
			if cap(kept.buf) > 8*len(whole) {
				t.Errorf("limit %d: %d bytes held", limit, cap(kept.buf))
			}
		}
	}
}
