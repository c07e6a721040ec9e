// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// MaxAttempts is how often something is asked to go before a person is needed.
const MaxAttempts = 5

// goneKept is how long listings may lag behind a read by id.
const goneKept = 24 * time.Hour

// Mark is all that is remembered of a suspect; no mark, never suspected.
type Mark struct {
	Reason    Reason    `json:"reason"`
	First     time.Time `json:"first,omitzero"` // when the reason was first seen to hold; zero: it did not at the last look
	Looks     int       `json:"looks"`          // complete ones that agreed
	Claim     Claim     `json:"claim,omitzero"` // what they agreed on, of a rule about Airflow
	Taken     time.Time `json:"taken,omitzero"` // when Claim was about to be taken off, until it is known that its task is over; zero: it is settled
	Asked     time.Time `json:"asked,omitzero"` // when its end was last asked for; zero: never
	Next      time.Time `json:"next,omitzero"`  // not asked again before
	Attempts  int       `json:"attempts,omitempty"`
	LastError string    `json:"last_error,omitempty"`
	// Gone is when it was found to be absent by id. Listings may lag: for
	// goneKept after, one that still shows it is not believed.
	Gone time.Time `json:"gone,omitzero"`
}

// agrees reports whether the mark is of the proof of v, and the last look saw it.
func (m Mark) agrees(v Verdict) bool {
	return m.Reason == v.Reason && m.Claim == v.Claim && !m.First.IsZero()
}

// Marks are the marks of one place. As JSON they are a list, sorted by key.
type Marks map[Key]Mark

type markedKey struct {
	Key
	Mark
}

// Compare orders keys by handle, incarnation and kind.
func (k Key) Compare(other Key) int {
	leftover := func(k Key) int {
		if k.Leftover {
			return 1
		}
		return 0
	}
	return cmp.Or(
		strings.Compare(k.Handle, other.Handle),
		strings.Compare(k.Incarnation, other.Incarnation),
		cmp.Compare(leftover(k), leftover(other)),
	)
}

// MarshalJSON writes the marks as a sorted list, the same bytes for the same marks.
func (m Marks) MarshalJSON() ([]byte, error) {
	list := make([]markedKey, 0, len(m))
	for _, key := range slices.SortedFunc(maps.Keys(m), Key.Compare) {
		list = append(list, markedKey{key, m[key]})
	}
	return json.Marshal(list)
}

// UnmarshalJSON reads what MarshalJSON writes. One key twice is an error.
func (m *Marks) UnmarshalJSON(data []byte) error {
	var list []markedKey
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("read marks: %w", err)
	}
	*m = make(Marks, len(list))
	for _, marked := range list {
		if _, twice := (*m)[marked.Key]; twice {
			return fmt.Errorf("read marks: %q is marked twice", marked.Handle)
		}
		(*m)[marked.Key] = marked.Mark
	}
	return nil
}
