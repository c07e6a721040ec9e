// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// The bounds of a lifetime: Modal counts whole seconds, and ends every sandbox
// after a day (guide/sandboxes).
const (
	lifetimeMin = time.Second
	lifetimeMax = 24 * time.Hour
)

// defaultImage is the one that Airflow's ModalSandboxBackend takes.
const defaultImage = "python:3.12-slim"

// Capabilities are those of Modal's API; hostnames only where the connection
// accepts that they are enforced by TLS server name alone.
func (a *app) Capabilities() backend.Capabilities {
	return backend.Capabilities{
		Attachable:      true,
		OpenNetwork:     true,
		BlockNetwork:    true,
		AllowHostnames:  a.sni,
		AllowCIDRs:      true,
		LifetimeMin:     lifetimeMin,
		LifetimeMax:     lifetimeMax,
		ServerEnds:      true,
		Identity:        true,
		Tags:            backend.TagsEditable,
		DefaultImage:    defaultImage,
		DefaultWorkdir:  sandbox.DefaultWorkdir,
		FindLag:         a.findLag,
		WaitGoneTimeout: time.Minute, // the quick witness takes a second, the poll 35 (measured)
	}
}

var (
	environmentVariable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) // as the client checks it
	gpuType             = regexp.MustCompile(`^[A-Za-z0-9-]+(:[0-9]{1,3})?$`)
	placement           = regexp.MustCompile(`^[A-Za-z0-9-]+$`)
)

// Refuse lists what Modal, its client or Airflow's ModalSandboxBackend refuse,
// and what Modal would accept and not enforce.
func (a *app) Refuse(spec sandbox.Spec) []backend.Refusal {
	refusals := a.refuseNetwork(spec.Network)
	refuse := func(when bool, attribute, reason string, args ...any) {
		if when {
			refusals = append(refusals, backend.Refusal{Attribute: attribute, Reason: fmt.Sprintf(reason, args...)})
		}
	}
	refuse(spec.Lifetime < lifetimeMin || spec.Lifetime > lifetimeMax, "lifetime",
		"%s is outside %s to %s, the longest that Modal lets a sandbox live", spec.Lifetime, lifetimeMin, lifetimeMax)
	refuse(spec.IdleTimeout < 0 || spec.IdleTimeout > 0 && spec.IdleTimeout < time.Second, "idle_timeout",
		"%s is not a second or more", spec.IdleTimeout)
	refuse(spec.IdleTimeout > 0 && spec.IdleTimeout > spec.Lifetime, "idle_timeout",
		"%s is longer than the lifetime of %s, so that it would never end the sandbox", spec.IdleTimeout, spec.Lifetime)
	refuse(spec.IdleTimeout > 0 && spec.Owner != "", "idle_timeout",
		"an owned sandbox waits for its next task, and Modal would end it for being idle; leave owner or idle_timeout out")
	// The client counts in 32 bits, and in thousandths of a core.
	refuse(spec.CPU < 0 || spec.CPU > 0 && spec.CPU < 0.001 || spec.CPU > 4096 || math.IsNaN(spec.CPU), "cpu", "%v is not a number of cores from 0.001", spec.CPU)
	refuse(spec.MemoryMiB < 0 || spec.MemoryMiB > math.MaxInt32, "memory_mib", "%d is not a number of MiB", spec.MemoryMiB)
	refuse(!validGPU(spec.GPU), "gpu", "%q is not a GPU as Modal writes them, such as T4 or A100-80GB:4", spec.GPU)
	refuse(spec.Region != "" && !placement.MatchString(spec.Region), "region", "%q is not a region as Modal writes them, such as us-east", spec.Region)
	refuse(spec.Cloud != "" && !placement.MatchString(spec.Cloud), "cloud", "%q is not a cloud as Modal writes them, such as aws", spec.Cloud)
	if err := sandbox.CheckWorkdir(spec.Workdir); spec.Workdir != "" && err != nil {
		refuse(true, "workdir", "%v", err)
	}
	if err := checkImage(spec.Image); spec.Image != "" && err != nil {
		refuse(true, "image", "%v", err)
	}
	if err := checkEnv(spec.Env); err != nil {
		refuse(true, "env", "%v", err)
	}
	return refusals
}

// refuseNetwork refuses what Airflow does, for its reasons.
func (a *app) refuseNetwork(policy sandbox.NetworkPolicy) []backend.Refusal {
	var refusals []backend.Refusal
	refuse := func(reason string) {
		refusals = append(refusals, backend.Refusal{Attribute: "network_policy", Reason: reason})
	}
	names := len(policy.AllowEgressTo) > 0
	if names && !a.sni && !policy.Open {
		refuse("allow_egress_to is enforced by TLS server name only, on port 443 towards every address, with DNS open; " +
			"accept that with egress_enforcement = \"sni\" on the connection, or use allow_egress_to_cidrs")
	}
	for _, problem := range airflow.CheckNetwork(policy) {
		if names && !a.sni && problem.Attribute == "allow_egress_to" {
			continue
		}
		refuse(fmt.Sprintf("%s: %v", problem.Attribute, problem.Err))
	}
	return refusals
}

func validGPU(gpu string) bool {
	_, count, counted := strings.Cut(gpu, ":")
	number, err := strconv.Atoi(count)
	return gpu == "" || gpuType.MatchString(gpu) && (!counted || err == nil && number > 0)
}

// checkImage refuses what would not be one word of a Dockerfile's FROM.
func checkImage(image string) error {
	switch {
	case image == "":
		return errors.New("an image is a registry's reference such as python:3.12-slim, or a Modal image id (im-…)")
	case !utf8.ValidString(image) || strings.ContainsFunc(image, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return fmt.Errorf("%q holds white space or a control character", image)
	case strings.HasPrefix(image, "-"):
		return fmt.Errorf("%q begins with a dash", image)
	}
	return nil
}

func checkEnv(env map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(env)) {
		if !environmentVariable.MatchString(key) {
			return fmt.Errorf("%q is not the name of an environment variable: letters, digits and underscores, no digit first", key)
		}
		if err := sandbox.CheckEnvValue(env[key]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}
