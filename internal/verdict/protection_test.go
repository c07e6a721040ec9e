// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func TestProtectedIsKeptWhateverTheReasons(t *testing.T) {
	cases := []struct {
		name    string
		change  func(*sandbox.Sandbox)
		protect Protection
		want    Outcome
	}{
		{"by nothing", nil, Protection{}, Condemned},
		{"by the tag", tag(sandbox.TagProtect, "yes"), Protection{}, Protected},
		{"by an empty tag", tag(sandbox.TagProtect, ""), Protection{}, Condemned},
		{"by the tag false", tag(sandbox.TagProtect, "false"), Protection{}, Condemned},
		{"by the tag False, which is malformed", tag(sandbox.TagProtect, "False"), Protection{}, Protected},
		{"by the tag 0, which is malformed", tag(sandbox.TagProtect, "0"), Protection{}, Protected},
		{"by the tag 1, which is no time", tag(sandbox.TagProtect, "1"), Protection{}, Protected},
		{"by the tag no, which is malformed", tag(sandbox.TagProtect, "no"), Protection{}, Protected},
		{"until later", tag(sandbox.TagProtect, unix(noon.Add(time.Hour))), Protection{}, Protected},
		{"until a moment ago", tag(sandbox.TagProtect, unix(noon.Add(-time.Hour))), Protection{}, Condemned},
		{"until later, as a date", tag(sandbox.TagProtect, "2026-11-30T13:00:00+00:00"), Protection{}, Protected},
		{"until earlier, as a date", tag(sandbox.TagProtect, "2026-11-30T11:00:00Z"), Protection{}, Condemned},
		{"until a malformed date", tag(sandbox.TagProtect, "2026-11-30"), Protection{}, Protected},
		{"by its owner", tag(airflow.TagOwner, "terraform:prod/a"), Protection{Owners: []string{"terraform:prod/*"}}, Protected},
		{"by another owner", tag(airflow.TagOwner, "terraform:test/a"), Protection{Owners: []string{"terraform:prod/*"}}, Condemned},
		{"by an owner it has not", nil, Protection{Owners: []string{"*"}}, Condemned},
		{"by a tag's value", tag("team", "research"), Protection{Tags: map[string]string{"team": "research"}}, Protected},
		{"by another value", tag("team", "data"), Protection{Tags: map[string]string{"team": "research"}}, Condemned},
		{"by its handle", nil, Protection{Handles: []string{"lab#box"}}, Protected},
		{"by a handle of another connection", nil, Protection{Handles: []string{"prod#box"}}, Condemned},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := running(func(b *sandbox.Sandbox) {
				expiredAt(noon.Add(-time.Hour))(b)
				if c.change != nil {
					c.change(b)
				}
			})
			policy := enforced()
			policy.Protect = c.protect
			facts := looked(s)
			v := Judge(s, &facts, policy)
			if v.Outcome != c.want {
				t.Errorf("judged %s, want %s", v.Outcome, c.want)
			}
			if v.Outcome == Protected && v.Doubt == "" {
				t.Error("it does not say what protects it")
			}
		})
	}
}

func tag(key, value string) func(*sandbox.Sandbox) {
	return func(b *sandbox.Sandbox) { b.Tags[key] = value }
}

func TestLeftoverIsProtectedByItsHandle(t *testing.T) {
	s := leftover(func(*sandbox.Leftover) {})
	policy := enforced()
	policy.Protect.Handles = []string{"lab#left"}
	check(t, s, looked(s), policy, Protected, "")
}

func TestOwnerPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, owner string
		want           bool
	}{
		{"etl/*", "etl/run", true},
		{"etl/*", "etl/a/b", true},
		{"etl/*", "etl", false},
		{"*", "", true},
		{"", "", true},
		{"", "x", false},
		{"a?c", "abc", true},
		{"a?c", "a€c", true},
		{"a?c", "ac", false},
		{"*/manual__*", "dag/manual__2026", true},
		{"*a*b*c", "xxaxxbxxbxxc", true},
		{"*a*b*c", "xxaxxbxxbxx", false},
		{"a*", strings.Repeat("a", 10_000), true},
		{"[a]", "[a]", true},
	} {
		if got := matches(c.pattern, c.owner); got != c.want {
			t.Errorf("matches(%q, %.20q) = %t", c.pattern, c.owner, got)
		}
	}
}

func TestWhatNoRuleMayTouch(t *testing.T) {
	ended := expiredAt(noon.Add(-time.Hour))
	cases := []struct {
		name   string
		change func(*sandbox.Sandbox)
		want   Outcome
	}{
		{"what the backend only remembers", func(b *sandbox.Sandbox) { b.State = sandbox.Ended }, Ended},
		{"a record that cannot be read", func(b *sandbox.Sandbox) { b.Problem = "meta.json is torn" }, Unjudged},
		{"tags that were not told", func(b *sandbox.Sandbox) { b.Tags, b.TagsKnown = nil, false }, Unjudged},
		{"what nobody of ours made, whatever its end", func(b *sandbox.Sandbox) {
			b.Tags, b.ServerEnds = sandbox.Tags{"app": "web"}, noon.Add(-time.Hour)
		}, Foreign},
		{"what only bears our protection", func(b *sandbox.Sandbox) {
			b.Tags, b.ServerEnds = sandbox.Tags{sandbox.TagProtect: "false"}, noon.Add(-time.Hour)
		}, Foreign},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := running(func(b *sandbox.Sandbox) { ended(b); c.change(b) })
			check(t, s, looked(s), enforced(), c.want, "")
		})
	}
}

func TestEachMarkerOfOursIsEnough(t *testing.T) {
	for _, marker := range []string{airflow.TagSandbox, sandbox.TagManagedBy, sandbox.TagAttempt} {
		s := running(func(b *sandbox.Sandbox) {
			b.Tags, b.ServerEnds = sandbox.Tags{marker: "x"}, noon.Add(-time.Hour)
		})
		check(t, s, looked(s), enforced(), Condemned, "expired")
	}
}

func TestTerraformsSandboxesAreSparedByRulesThatDoNotManageThem(t *testing.T) {
	s := running(func(b *sandbox.Sandbox) { b.Tags[sandbox.TagManagedBy] = sandbox.ManagedByTerraform })
	facts := looked(s)
	rule := Rule{Judge: func(Subject, *Facts) Finding { return Finding{Holds: Yes} }}
	if finding, _ := rule.ask(s, &facts); finding.Holds != No {
		t.Error("a rule took what Terraform manages")
	}
	rule.Managed = true
	if finding, _ := rule.ask(s, &facts); finding.Holds != Yes {
		t.Error("a rule that may take what Terraform manages did not")
	}
	for _, rule := range rules {
		allowed := slices.Contains([]Reason{"expired", "failed_teardown", "retired", "stale_holder"}, rule.Reason)
		if rule.Managed != allowed {
			t.Errorf("%s: may act on Terraform's = %t", rule.Reason, rule.Managed)
		}
	}
}

func TestTheWeakerModeWins(t *testing.T) {
	s := running(expiredAt(noon.Add(-time.Hour)))
	facts := looked(s)
	for _, c := range []struct {
		name  string
		mode  Mode
		modes map[Reason]Mode
		want  Mode
	}{
		{"both enforce", Enforce, nil, Enforce},
		{"the whole reports", Report, map[Reason]Mode{"expired": Enforce}, Report},
		{"the rule reports", Enforce, map[Reason]Mode{"expired": Report}, Report},
	} {
		plan := Decide(facts, Policy{Mode: c.mode, Modes: c.modes})
		if got := plan.Verdicts[0].Mode; got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if acts := len(plan.Condemned()) == 1; acts != (c.want == Enforce) {
			t.Errorf("%s: acts %t", c.name, acts)
		}
	}
}
