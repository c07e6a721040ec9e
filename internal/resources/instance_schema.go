// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework-validators/float64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// Schema describes a sandbox_instance.
func (r *instanceResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := map[string]schema.Attribute{
		"network_policy": schema.SingleNestedAttribute{
			MarkdownDescription: "What code inside may reach: an object, or a whole `sandbox_network_policy`. " +
				"Left out, everything is denied. Changed in place where the connection can then enforce it as strongly as at " +
				"birth, if need be by ending a running command that has more than is left; elsewhere another one replaces.",
			Optional:   true,
			Attributes: networkPolicyAttributes(),
		},
		"timeouts": timeoutsAttribute(),
	}
	for _, group := range []map[string]schema.Attribute{lifeAttributes(), contentAttributes(), machineAttributes(), computedAttributes()} {
		maps.Copy(attributes, group)
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "A sandbox that stands until its `lifetime` is over. What the connection cannot enforce " +
			"is refused when planning. An apply within `renew_before` of the end renews it in place; a sandbox found " +
			"past its end is replaced; one that is gone is planned anew. Where the connection cannot move the end of a sandbox, " +
			"as on Modal, a renewal makes a new one in the same update and retires the old one: the `handle` changes, files do " +
			"not come along, and who holds the old one keeps it until its end.",
		Attributes: attributes,
	}
}

// lifeAttributes say where a sandbox lives, how long, and for whom.
func lifeAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"connection_uri": schema.StringAttribute{
			MarkdownDescription: "Where the sandbox lives, such as `local:`, or the `uri` of a `sandbox_connection`. " +
				"Another location replaces the sandbox; other settings of the same location do not.",
			Required:   true,
			Validators: []validator.String{isConnectionURI},
		},
		"lifetime": schema.StringAttribute{
			MarkdownDescription: "How long the sandbox lives, counted from its creation or last renewal, such as `12h`. " +
				"A longer one renews it at once; a shorter one counts from the next renewal.",
			Required:   true,
			Validators: []validator.String{isLifetime},
		},
		"renew_before": schema.StringAttribute{
			MarkdownDescription: "An apply this long before the end renews the sandbox for another `lifetime`. " +
				"Choose at least the time between two applies. The refresh finds out whether it is due, so `-refresh=false` " +
				"renews nothing. Left out, nothing renews it.",
			Optional:   true,
			Validators: []validator.String{isPositiveDuration},
		},
		"owner": schema.StringAttribute{
			MarkdownDescription: "Who may attach: the owner that a Dag presents, see the function `dag_run_owner`. Changed in place.",
			Optional:            true,
			Validators:          []validator.String{check("an owner", airflow.CheckOwner)},
		},
		"deployment": schema.StringAttribute{
			MarkdownDescription: "Marker of the Airflow deployment whose Dags use the sandbox, stamped as the tag `taskowned_deployment`: " +
				"the janitor believes what a deployment says of its runs and tasks only about sandboxes that bear its marker. " +
				"Left out, the `deployment` of the connection, over which it wins. Changed in place.",
			Optional:   true,
			Computed:   true,
			Validators: []validator.String{check("the marker of a deployment", connect.CheckDeployment)},
		},
		"on_held": schema.StringAttribute{
			MarkdownDescription: "What a destroy does with a sandbox that a running task holds, where Airflow can attach: `wait` " +
				"(the default) waits within `timeouts.delete` until the task lets go, and then fails with nothing destroyed; " +
				"`retire` leaves it to its holder, its end and the janitor, and forgets it; `kill` destroys it under the task.",
			Optional:   true,
			Validators: []validator.String{stringvalidator.OneOf(onHeldWait, onHeldRetire, onHeldKill)},
		},
		"tags": schema.MapAttribute{
			MarkdownDescription: "Tags of your own. Keys beginning with `airflow_` or `taskowned_` are reserved, " +
				"but for `taskowned_protect`, which keeps the janitor away. It does not keep Terraform away: a destroy, also that " +
				"of a replacement, asks neither for it nor, where Airflow cannot attach, for a holder. " +
				"`lifecycle { prevent_destroy = true }` does. Tags that others set are left alone.",
			Optional:    true,
			ElementType: types.StringType,
			Validators: []validator.Map{mapvalidator.NoNullValues(), mapvalidator.SizeAtMost(sandbox.MaxTags),
				mapvalidator.KeysAre(isTagKey), mapvalidator.ValueStringsAre(isTagValue)},
		},
	}
}

// contentAttributes say what is inside a sandbox.
func contentAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"image": schema.StringAttribute{
			MarkdownDescription: "The image, such as the `reference` of a `sandbox_image`. Left out, the connection's default. Replaces.",
			Optional:            true,
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
		},
		"workdir": schema.StringAttribute{
			MarkdownDescription: "Absolute path inside in which commands start. Left out, the connection's default. Replaces.",
			Optional:            true,
			Validators:          []validator.String{isWorkdir},
		},
		"env": schema.MapAttribute{
			MarkdownDescription: "Environment of every command. It is kept in the state; secrets belong into `env_wo`. Replaces.",
			Optional:            true,
			ElementType:         types.StringType,
			Validators:          []validator.Map{isEnvironment},
		},
		"env_wo": schema.MapAttribute{
			MarkdownDescription: "Further environment that is never stored in plan or state. " +
				"Raise `env_wo_version` to have a changed value take effect.",
			Optional:    true,
			WriteOnly:   true,
			ElementType: types.StringType,
			Validators:  []validator.Map{isEnvironment, mapvalidator.AlsoRequires(path.MatchRoot("env_wo_version"))},
		},
		"env_wo_version": schema.Int64Attribute{
			MarkdownDescription: "Number of the present `env_wo`. Another number replaces the sandbox.",
			Optional:            true,
			Validators:          []validator.Int64{int64validator.AlsoRequires(path.MatchRoot("env_wo"))},
		},
	}
}

// machineAttributes say what a sandbox runs on. A connection that cannot grant
// one refuses it when planning.
func machineAttributes() map[string]schema.Attribute {
	word := func(description string) schema.StringAttribute {
		return schema.StringAttribute{
			MarkdownDescription: description + " Replaces.",
			Optional:            true,
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
		}
	}
	return map[string]schema.Attribute{
		"cpu": schema.Float64Attribute{
			MarkdownDescription: "CPU cores, such as `0.5`. Replaces.",
			Optional:            true,
			Validators:          []validator.Float64{float64validator.AtLeast(0.001)},
		},
		"memory_mib": schema.Int64Attribute{
			MarkdownDescription: "Memory in MiB. Replaces.",
			Optional:            true,
			Validators:          []validator.Int64{int64validator.AtLeast(1)},
		},
		"gpu":    word("GPU, in the vendor's words."),
		"region": word("Region, in the vendor's words."),
		"cloud":  word("Cloud, in the vendor's words."),
		"idle_timeout": schema.StringAttribute{
			MarkdownDescription: "The backend ends the sandbox after this long without use. Replaces.",
			Optional:            true,
			Validators:          []validator.String{isPositiveDuration},
		},
	}
}

func computedAttributes() map[string]schema.Attribute {
	keep := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	return map[string]schema.Attribute{
		"handle": schema.StringAttribute{
			MarkdownDescription: "The backend's id of the sandbox.",
			Computed:            true,
			PlanModifiers:       keep,
		},
		"created_at": schema.StringAttribute{
			MarkdownDescription: "When the sandbox was made, as RFC 3339.",
			Computed:            true,
			CustomType:          timetypes.RFC3339Type{},
			PlanModifiers:       keep,
		},
		"expires_at": schema.StringAttribute{
			MarkdownDescription: "When the sandbox ends unless it is renewed, as RFC 3339.",
			Computed:            true,
			CustomType:          timetypes.RFC3339Type{},
			PlanModifiers:       keep,
		},
		"attachment": attachmentAttribute(),
	}
}
