// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

type instanceModel struct {
	ConnectionURI types.String `tfsdk:"connection_uri"`
	Lifetime      types.String `tfsdk:"lifetime"`
	RenewBefore   types.String `tfsdk:"renew_before"`
	Owner         types.String `tfsdk:"owner"`
	Deployment    types.String `tfsdk:"deployment"`
	Tags          types.Map    `tfsdk:"tags"`
	NetworkPolicy types.Object `tfsdk:"network_policy"`
	OnHeld        types.String `tfsdk:"on_held"`

	Image        types.String `tfsdk:"image"`
	Workdir      types.String `tfsdk:"workdir"`
	Env          types.Map    `tfsdk:"env"`
	EnvWO        types.Map    `tfsdk:"env_wo"`
	EnvWOVersion types.Int64  `tfsdk:"env_wo_version"`

	CPU         types.Float64 `tfsdk:"cpu"`
	MemoryMiB   types.Int64   `tfsdk:"memory_mib"`
	GPU         types.String  `tfsdk:"gpu"`
	Region      types.String  `tfsdk:"region"`
	Cloud       types.String  `tfsdk:"cloud"`
	IdleTimeout types.String  `tfsdk:"idle_timeout"`

	Timeouts timeouts.Value `tfsdk:"timeouts"`

	Handle     types.String      `tfsdk:"handle"`
	CreatedAt  timetypes.RFC3339 `tfsdk:"created_at"`
	ExpiresAt  timetypes.RFC3339 `tfsdk:"expires_at"`
	Attachment types.Object      `tfsdk:"attachment"`
}

type instanceIdentity struct {
	Location types.String `tfsdk:"location"`
	Handle   types.String `tfsdk:"handle"`
}

// identity is what the sandbox is known by to Terraform.
func (m instanceModel) identity(conn *Connection) instanceIdentity {
	return instanceIdentity{Location: types.StringValue(conn.Location()), Handle: m.Handle}
}

// spec is what m asks of a backend, as far as it is known: unknown holds the
// names of the attributes that are not.
func (m instanceModel) spec() (spec sandbox.Spec, unknown map[string]bool) {
	unknown = map[string]bool{}
	for name, value := range m.specAttributes() {
		if !knownThroughout(value) {
			unknown[name] = true
		}
	}
	policy, known := policyOf(m.NetworkPolicy)
	if !known {
		unknown["network_policy"] = true
	}
	return sandbox.Spec{
		Image:       m.Image.ValueString(),
		Workdir:     m.Workdir.ValueString(),
		Env:         mapStrings(m.Env),
		Owner:       m.Owner.ValueString(),
		Network:     policy,
		Lifetime:    duration(m.Lifetime),
		IdleTimeout: duration(m.IdleTimeout),
		CPU:         m.CPU.ValueFloat64(),
		MemoryMiB:   m.MemoryMiB.ValueInt64(),
		GPU:         m.GPU.ValueString(),
		Region:      m.Region.ValueString(),
		Cloud:       m.Cloud.ValueString(),
	}, unknown
}

// specAttributes are the attributes that make the spec, by name.
func (m instanceModel) specAttributes() map[string]attr.Value {
	return map[string]attr.Value{
		"connection_uri": m.ConnectionURI,
		"image":          m.Image,
		"workdir":        m.Workdir,
		"env":            m.Env,
		"owner":          m.Owner,
		"network_policy": m.NetworkPolicy,
		"lifetime":       m.Lifetime,
		"idle_timeout":   m.IdleTimeout,
		"cpu":            m.CPU,
		"memory_mib":     m.MemoryMiB,
		"gpu":            m.GPU,
		"region":         m.Region,
		"cloud":          m.Cloud,
	}
}

// stamp is what the tags of a sandbox must say when m, which is wholly known, is
// true and it ends at expiresAt.
func (m instanceModel) stamp(conn *Connection, expiresAt time.Time) (stamp, error) {
	policy, _ := policyOf(m.NetworkPolicy)
	network, err := airflow.EncodeNetwork(policy)
	if err != nil {
		return stamp{}, fmt.Errorf("write network_policy as a tag: %w", err)
	}
	return stamp{
		owner:      m.Owner.ValueString(),
		network:    network,
		workdir:    m.workdir(conn),
		deployment: m.Deployment.ValueString(),
		expiresAt:  expiresAt,
		user:       mapStrings(m.Tags),
	}, nil
}

// workdir is where commands start.
func (m instanceModel) workdir(conn *Connection) string {
	if dir := m.Workdir.ValueString(); dir != "" {
		return dir
	}
	return defaultWorkdir(conn)
}

func defaultWorkdir(conn *Connection) string {
	if dir := conn.Backend.Capabilities().DefaultWorkdir; dir != "" {
		return dir
	}
	return sandbox.DefaultWorkdir
}

// duration reads a duration; 0 when it is null, unknown or none.
func duration(d types.String) time.Duration {
	parsed, _ := time.ParseDuration(d.ValueString())
	return parsed
}

// moment reads a time; zero when it is null, unknown or none.
func moment(t timetypes.RFC3339) time.Time {
	parsed, _ := time.Parse(time.RFC3339, t.ValueString())
	return parsed
}

// momentValue is the reverse of moment, in UTC and whole seconds.
func momentValue(t time.Time) timetypes.RFC3339 {
	if t.IsZero() {
		return timetypes.NewRFC3339Null()
	}
	return timetypes.NewRFC3339TimeValue(t.UTC().Truncate(time.Second))
}

// mapStrings returns the strings of a known map; nil for an absent or empty one.
func mapStrings(m types.Map) map[string]string {
	var out map[string]string
	for key, element := range m.Elements() {
		if s, ok := element.(types.String); ok {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = s.ValueString()
		}
	}
	return out
}

// stringsMap is the reverse of mapStrings, but for an empty map.
func stringsMap(values map[string]string) types.Map {
	elements := make(map[string]attr.Value, len(values))
	for key, value := range values {
		elements[key] = types.StringValue(value)
	}
	return types.MapValueMust(types.StringType, elements)
}
