// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package interop

// oddValue is a tag that every careless encoding would change.
const oddValue = ` größe "a"\ <&>/+%20🙂`

// oddOwner is one that an escape or a fold of case would change.
const oddOwner = "terraform:Größe/ä 🙂 +%2F&='\"\\"

// instances are the sandboxes that one terraform apply makes for all tests, by
// what is special about each.
var instances = func() map[string]instance {
	all := map[string]instance{
		"owned":            {Owner: owner},
		"unowned":          {},
		"retried":          {Owner: owner},
		"first generation": {Owner: owner, GPU: "T4"},
		"tagged":           {Owner: oddOwner, Tags: map[string]string{"team": oddValue, "taskowned_protect": "false"}},
		"reviewed":         {Owner: owner},
		"of the run":       {Owner: run("attach").Owner()},
		"mapped":           {Owner: run("attach").Owner(), Deployment: deploymentMarker},
		"from a variable":  {Owner: owner},
		"from a file":      {Owner: owner},
		"first":            {Owner: owner},
		"second":           {Owner: owner},
		"stamped":          {Owner: owner},
		"planned":          {Owner: owner},
		"retagged":         {Owner: owner},
		"claimed":          {Owner: owner},
		"same moment":      {Owner: owner},
		"waited for":       {Owner: owner},
		"half an hour":     {Owner: owner, Lifetime: "30m"},
		"elsewhere":        {Owner: owner, Workdir: "/srv/work"},
	}
	for name, policy := range policies {
		all[name] = instance{Owner: owner, Network: policy.networkPolicy}
	}
	return all
}()

// policies are the network policies that a Dag author meets, and what a model is
// told of them.
var policies = map[string]struct {
	*networkPolicy
	told string
}{
	"policy: deny all":         {&networkPolicy{}, "NO network access, including DNS"},
	"policy: open":             {&networkPolicy{Block: new(bool)}, "has outbound network access"},
	"policy: two hostnames":    {&networkPolicy{Names: []string{"api.example.org", "*.cdn.example.net"}}, "port 443 only: api.example.org, *.cdn.example.net. Anything else"},
	"policy: name and address": {&networkPolicy{Names: []string{"api.example.org"}, CIDRs: []string{"203.0.113.7"}}, "api.example.org; and these address ranges, on any port: 203.0.113.7."},
}

func (p *networkPolicy) blocks() bool { return p.Block == nil || *p.Block }

// asSpec is p as keywords of Airflow's SandboxSpec.
func (p *networkPolicy) asSpec() map[string]any {
	return map[string]any{"block_network": p.blocks(), "allow_egress_to": p.Names, "allow_egress_to_cidrs": p.CIDRs}
}
