// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package interop

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/hashicorp/terraform-exec/tfexec"
)

// instance is one sandbox_instance of testdata/terraform.
type instance struct {
	Owner      string            `json:"owner,omitempty"`
	Deployment string            `json:"deployment,omitempty"`
	Lifetime   string            `json:"lifetime,omitempty"`
	Workdir    string            `json:"workdir,omitempty"`
	GPU        string            `json:"gpu,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
	Network    *networkPolicy    `json:"network_policy,omitempty"`
}

type networkPolicy struct {
	Block *bool    `json:"block_network,omitempty"`
	Names []string `json:"allow_egress_to,omitempty"`
	CIDRs []string `json:"allow_egress_to_cidrs,omitempty"`
}

// attachment is what sandbox_instance gives a Dag; without an owner it is the
// handle alone.
type attachment struct {
	Handle    string `json:"handle"`
	Owner     string `json:"owner"`
	Workdir   string `json:"workdir"`
	ExpiresAt string `json:"expires_at"`
}

// terraform is the real program in a directory of its own, with the provider as
// it was built.
type terraform struct {
	*tfexec.Terraform
	dir     string
	made    map[string]attachment // by name
	outputs map[string]tfexec.OutputMeta
}

func newTerraform(dir string) (*terraform, error) {
	if err := os.CopyFS(dir, os.DirFS("testdata/terraform")); err != nil {
		return nil, err
	}
	program, err := tfexec.NewTerraform(dir, filepath.Join(programs, "terraform"))
	if err != nil {
		return nil, err
	}
	return &terraform{Terraform: program, dir: dir}, nil
}

// apply makes exactly these instances stand.
func (tf *terraform) apply(instances map[string]instance, options ...tfexec.ApplyOption) (err error) {
	if err := tf.declare(instances); err != nil {
		return err
	}
	if err := tf.Apply(context.Background(), options...); err != nil {
		return err
	}
	if tf.outputs, err = tf.Output(context.Background()); err != nil {
		return err
	}
	return json.Unmarshal(tf.outputs["made"].Value, &tf.made)
}

// declare writes the configuration of these instances.
func (tf *terraform) declare(instances map[string]instance) error {
	variables, err := json.Marshal(map[string]any{
		"instances": instances,
		"token":     map[string]string{"id": server.Token().ID, "secret": server.Token().Secret},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(tf.dir, "terraform.tfvars.json"), variables, 0o600)
}
