// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package interop

// oddValue is a tag that every careless encoding would change.
const oddValue = ` größe "a"\ <&>/+%20🙂`

// instances are the sandboxes that one terraform apply makes for all tests, by
// what is special about each.
var instances = func() map[string]instance {
	all := map[string]instance{
		"owned":           {Owner: owner},
		"unowned":         {},
		"retried":         {Owner: owner},
		"tagged":          {Owner: owner, Tags: map[string]string{"team": oddValue, "taskowned_protect": "false"}},
		"reviewed":        {Owner: owner},
		"of the run":      {Owner: run("attach").Owner()},
		"mapped":          {Owner: run("attach").Owner(), Deployment: deploymentMarker},
		"from a variable": {Owner: owner},
		"from a file":     {Owner: owner},
		"first":           {Owner: owner},
		"second":          {Owner: owner},
		"stamped":         {Owner: owner},
		"planned":         {Owner: owner},
		"retagged":        {Owner: owner},
		"claimed":         {Owner: owner},
		"waited for":      {Owner: owner},
		"half an hour":    {Owner: owner, Lifetime: "30m"},
		"elsewhere":       {Owner: owner, Workdir: "/srv/work"},
	}
	for name, policy := range policies {
		all[name] = instance{Network: policy}
	}
	return all
}()

// policies are the network policies that a Dag author meets.
var policies = map[string]*networkPolicy{
	"policy: deny all":         {},
	"policy: open":             {Block: new(bool)},
	"policy: two hostnames":    {Names: []string{"api.example.org", "*.cdn.example.net"}},
	"policy: name and address": {Names: []string{"api.example.org"}, CIDRs: []string{"203.0.113.7"}},
}

func (p *networkPolicy) blocks() bool { return p.Block == nil || *p.Block }

// asSpec is p as keywords of Airflow's SandboxSpec.
func (p *networkPolicy) asSpec() map[string]any {
	return map[string]any{"block_network": p.blocks(), "allow_egress_to": p.Names, "allow_egress_to_cidrs": p.CIDRs}
}
