// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// maxLifetime bounds every lifetime, whatever the backend: nothing is immortal,
// and an expiry must stay readable to Airflow and to the janitor.
const maxLifetime = 10 * 365 * 24 * time.Hour

// rule is a string validator made of one Go function. The function is not asked
// about null or unknown values; its error names the value and what to do.
type rule struct {
	what  string
	check func(string) error
}

var _ validator.String = rule{}

func check(what string, f func(string) error) rule { return rule{what: what, check: f} }

func (r rule) Description(context.Context) string             { return "must be " + r.what }
func (r rule) MarkdownDescription(ctx context.Context) string { return r.Description(ctx) }

// ValidateString applies the rule. The text names the attribute, because
// Terraform points at the whole resource where the attribute is a nested one.
func (r rule) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if err := r.check(req.ConfigValue.ValueString()); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Not "+r.what, fmt.Sprintf("%s: %v", req.Path, err))
	}
}

var (
	isConnectionURI     = check("a connection URI", checkConnectionURI)
	isLifetime          = check("a lifetime", checkLifetime)
	isPositiveDuration  = check("a duration above zero", checkPositiveDuration)
	isMoment            = check("a moment", checkMoment)
	isTagKey            = check("a tag key of your own", sandbox.CheckTagKey)
	isTagValue          = check("a tag value", sandbox.CheckTagValue)
	isWorkdir           = check("an absolute path inside the sandbox", sandbox.CheckWorkdir)
	isAbsoluteDirectory = check("an absolute directory", checkAbsoluteDirectory)
	isEnvKey            = check("the name of an environment variable", sandbox.CheckEnvKey)
	isEnvValue          = check("the value of an environment variable", sandbox.CheckEnvValue)
	isEnvironment       = mapvalidator.All(mapvalidator.NoNullValues(), mapvalidator.KeysAre(isEnvKey), mapvalidator.ValueStringsAre(isEnvValue))
)

func checkConnectionURI(uri string) error {
	_, err := connect.Parse(uri)
	return err
}

func checkLifetime(s string) error {
	if err := checkPositiveDuration(s); err != nil {
		return err
	}
	if d, err := time.ParseDuration(s); err == nil && d > maxLifetime {
		return fmt.Errorf("%s is longer than the %s that any sandbox may live; renew_before keeps one alive from apply to apply", s, maxLifetime)
	}
	return nil
}

func checkPositiveDuration(s string) error {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a duration: write numbers, each with a unit, such as 45s, 30m or 1h30m; a day is 24h", s)
	case d <= 0:
		return fmt.Errorf("%s is not above zero; write a duration such as 30m or 12h", s)
	}
	return nil
}

func checkMoment(s string) error {
	if _, err := time.Parse(time.RFC3339, s); err != nil {
		return fmt.Errorf("%q is not a moment: write it as RFC 3339 says, such as 2026-12-01T08:00:00Z; timeadd(plantimestamp(), \"1h\") reckons one", s)
	}
	return nil
}

func checkAbsoluteDirectory(dir string) error {
	if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
		return fmt.Errorf("%q must be absolute and without . or .. or a trailing slash, such as /var/lib/sandboxes; "+
			"abspath(...) makes a relative path absolute", dir)
	}
	return nil
}
