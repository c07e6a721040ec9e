// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"strings"
	"time"
)

// orphanedWorkspace holds for what a sandbox left behind on the host while
// nothing uses it: a half-made directory, a half-deleted one, a workspace. Its
// times alone prove nothing, so the mark must age too. Not every file system
// tells when a directory was made; the age of the mark bounds that as well.
var orphanedWorkspace = Rule{
	Reason: "orphaned_workspace",
	Needs:  Complete | Clock,
	Mode:   Report,
	Grace:  24 * time.Hour,
	Judge:  judgeOrphanedWorkspace,
}

func judgeOrphanedWorkspace(s Subject, facts *Facts) Finding {
	left := s.Leftover
	switch {
	case left == nil || left.InUse || inUse(left.Path, facts.InUse):
		return Finding{}
	case left.ChangedAt.IsZero():
		return Finding{Holds: Unknown, Doubt: "the host does not say when it was last changed"}
	}
	return Finding{Holds: Yes, Since: later(left.CreatedAt, left.ChangedAt), Looks: AllGraceLooks, Undated: true, Evidence: []Evidence{
		{"left behind", left.Kind, left.Path},
		{"last change", stamp(later(left.CreatedAt, left.ChangedAt)), "host"},
		{"used by", "nothing", "complete look"},
	}}
}

// inUse reports whether a path that is used lies at, above or below path.
func inUse(path string, used map[string]struct{}) bool {
	for other := range used {
		if within(path, other) || within(other, path) {
			return true
		}
	}
	return false
}

func within(path, directory string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(directory, "/"))
	return ok && (rest == "" || rest[0] == '/')
}
