// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package clock

import "time"

// Apart is how far another clock is before ours at least; negative: behind it. It
// said a moment between earliest and latest, in a reply to what was asked at begun
// and answered at ended by ours. What lies within these times cannot be told.
func Apart(earliest, latest, begun, ended time.Time) time.Duration {
	switch {
	case earliest.After(ended):
		return earliest.Sub(ended)
	case latest.Before(begun):
		return latest.Sub(begun)
	}
	return 0
}
