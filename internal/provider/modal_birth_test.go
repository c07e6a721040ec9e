// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/protobuf/proto"
)

// translate writes the arguments of a ModalSandboxBackend, and a SandboxSpec, as
// one connection and one instance. An argument that it does not know is an error.
func translate(arguments, spec map[string]any) (connection, instance map[string]any, err error) {
	block, policy := map[string]any{}, map[string]any{}
	instance = map[string]any{"lifetime": "1h", "network_policy": policy} // Airflow's default, and never none
	connection = map[string]any{"modal": block}
	for name, value := range arguments {
		switch name {
		case "sandbox_timeout":
			instance["lifetime"] = inSeconds(value)
		case "idle_timeout":
			instance["idle_timeout"] = inSeconds(value)
		case "image", "workdir", "cpu", "gpu", "cloud", "tags":
			instance[name] = value
		case "memory":
			instance["memory_mib"] = wholePart(value) // as Airflow sends it
		case "region":
			regions, ok := value.([]any)
			if !ok || len(regions) != 1 {
				return nil, nil, fmt.Errorf("%v is not one region", value)
			}
			instance["region"] = regions[0]
		case "app_name", "egress_enforcement":
			block[name] = value
		case "modal_conn_id":
			connection["credentials"] = value
		case "create_app_if_missing": // an instance makes its app in any case
		default:
			return nil, nil, fmt.Errorf("the argument %s is not known", name)
		}
	}
	for name, value := range spec {
		switch name {
		case "owner", "env":
			instance[name] = value
		case "block_network", "allow_egress_to", "allow_egress_to_cidrs":
			policy[name] = value
		default:
			return nil, nil, fmt.Errorf("the field %s of a spec is not known", name)
		}
	}
	return connection, instance, nil
}

// inSeconds writes a number as a duration; what is none, as it stands.
func inSeconds(value any) any {
	if number, ok := value.(float64); ok {
		return strconv.FormatFloat(number, 'f', -1, 64) + "s"
	}
	if value == nil {
		return nil
	}
	return fmt.Sprint(value)
}

func wholePart(value any) any {
	if number, ok := value.(float64); ok {
		return math.Trunc(number)
	}
	return value
}

// frozenName is what the table calls every sandbox.
const frozenName = "airflow-sandbox-0123456789ab"

// birth is what one create call carries.
type birth struct {
	Tags     map[string]any
	Keywords map[string]any `json:"create_keywords"` // of Python's client
	Network  map[string]any // keywords too
	App      string
	Command  []any
}

// readBirth reads a call that makes a sandbox of either generation. Tags of ours
// are left out.
func readBirth(call proto.Message) birth {
	switch call := call.(type) {
	case *pb.SandboxCreateV2Request:
		env := map[string]any{}
		for _, source := range call.GetSecretSources() {
			for key, value := range source.GetEnv().GetContents() {
				env[key] = value
			}
		}
		return birthOf(call.GetDefinition(), call.GetTags(), env)
	case *pb.SandboxCreateRequest:
		return birthOf(call.GetDefinition(), call.GetTags(), nil)
	}
	return birth{}
}

func birthOf(d *pb.Sandbox, tags []*pb.SandboxTag, env map[string]any) birth {
	b := birth{
		Tags: map[string]any{},
		Keywords: map[string]any{
			"name":         d.GetName(),
			"timeout":      orNone(float64(d.GetTimeoutSecs())),
			"idle_timeout": orNone(float64(d.GetIdleTimeoutSecs())),
			"workdir":      orNone(d.GetWorkdir()),
			"cpu":          orNone(float64(d.GetResources().GetMilliCpu()) / 1000),
			"memory":       orNone(float64(d.GetResources().GetMemoryMb())),
			"gpu":          orNone(d.GetResources().GetGpuConfig().GetGpuType()),
			"cloud":        orNone(d.GetCloudProviderStr()),
			"env":          nil,
			"region":       nil,
		},
		Network: networkKeywords(d.GetNetworkAccess()),
		Command: texts(d.GetEntrypointArgs()),
	}
	if len(env) > 0 {
		b.Keywords["env"] = env
	}
	if regions := d.GetSchedulerPlacement().GetRegions(); len(regions) > 0 {
		b.Keywords["region"] = texts(regions)
	}
	for _, tag := range tags {
		if !strings.HasPrefix(tag.GetTagName(), "taskowned_") {
			b.Tags[tag.GetTagName()] = tag.GetTagValue()
		}
	}
	return b
}

func networkKeywords(access *pb.NetworkAccess) map[string]any {
	keywords := map[string]any{}
	if access.GetNetworkAccessType() == pb.NetworkAccess_BLOCKED {
		keywords["block_network"] = true
	}
	if ranges := access.GetAllowedCidrs(); len(ranges) > 0 {
		keywords["outbound_cidr_allowlist"] = texts(ranges)
	}
	if names := access.GetAllowedDomains(); len(names) > 0 {
		keywords["outbound_domain_allowlist"] = texts(names)
	}
	return keywords
}

// orNone is what JSON has for a value: null for none.
func orNone[T comparable](value T) any {
	var none T
	if value == none {
		return nil
	}
	return value
}

func texts(all []string) []any {
	var texts []any
	for _, text := range all {
		texts = append(texts, text)
	}
	return texts
}

// readStrictly reads a table; a field that nothing here knows is an error.
func readStrictly(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
