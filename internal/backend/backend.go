// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package backend is the seam between this module and the vendors: one
// interface, its error classes, the one way out of a vendor package (Caller),
// and what every caller does the same way (Create, EditTags, WaitGone, Snapshot).
package backend

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// Backend is one place where sandboxes live. Opening one does no I/O. It is
// safe for concurrent use and never wrapped: what belongs around a call is in
// the Caller below it. Every promise here is checked by package backendtest.
type Backend interface {
	// Scope names the place: vendor, account or host, app, user. It is stable
	// and holds no secret; the janitor keys what it remembers by it.
	Scope() string
	Capabilities() Capabilities
	// Refuse lists what this backend cannot enforce of a spec. It does no I/O,
	// so that Terraform can refuse at plan time; Create enforces the same list.
	Refuse(sandbox.Spec) []Refusal
	// Check verifies credentials, reach and versions, and learns who the place is.
	// It needs nothing that only running a command does: a host that can isolate
	// none any more can still be read and cleared.
	Check(context.Context) (Status, error)
	// List yields every sandbox of the scope, ours or not, each once, with tags
	// and times. An error is the last thing yielded and means incomplete:
	// nothing may be concluded from absence. Ending without one is the only
	// sign of "complete".
	List(context.Context) iter.Seq2[sandbox.Sandbox, error]
	// Get is the authoritative read. It answers ErrNotFound only when the
	// sandbox is definitely gone, or when the handle lives as another
	// incarnation. A Ref without incarnation matches any.
	Get(context.Context, sandbox.Ref) (sandbox.Sandbox, error)
	// Find returns what was created under an attempt mark: none, one or, after
	// a vendor's own retries, several.
	Find(ctx context.Context, mark string) ([]sandbox.Sandbox, error)
	// Create makes one whole sandbox or nothing; name, tags and mark travel in
	// the create call. ErrUnknownOutcome: something may exist under the mark; any
	// other error, ErrUnavailable too, says that nothing was made.
	// Its only caller is the function Create of this package.
	Create(context.Context, Request) (sandbox.Sandbox, error)
	// SetTags replaces the whole set. Its only caller is EditTags.
	SetTags(context.Context, sandbox.Ref, sandbox.Tags) error
	// Destroy asks for the end and does not wait for it: nil means accepted, or
	// gone already. ErrConflict: the handle lives as another incarnation.
	Destroy(context.Context, sandbox.Ref) error
	// Exec runs one command to its end. Output is kept byte for byte.
	Exec(context.Context, sandbox.Ref, Command) (Result, error)

	// The paths below are absolute; any other is ErrInvalid. A missing path is
	// fs.ErrNotExist, so that ErrNotFound keeps meaning the sandbox. No link leads
	// out of the sandbox.

	// ReadFile copies the regular file path to w and returns its length. A file
	// longer than limit bytes is ErrTooLarge, and nothing past the limit is
	// written; anything but a regular file, and a limit below zero, is ErrInvalid.
	ReadFile(ctx context.Context, ref sandbox.Ref, path string, limit int64, w io.Writer) (int64, error)
	// WriteFile creates or replaces the file path and creates its parent
	// directories. A directory in its place is ErrInvalid.
	WriteFile(ctx context.Context, ref sandbox.Ref, path string, r io.Reader) error
	// ListDirectory returns the direct children of path, sorted by name in byte
	// order. Anything but a directory is ErrInvalid.
	ListDirectory(ctx context.Context, ref sandbox.Ref, path string) ([]Entry, error)
}

// The abilities only some backends have, found by type assertion. A single
// sandbox that cannot answers ErrUnsupported.
type (
	// Preparer makes what must exist before the first sandbox, such as a state
	// directory or an app. It is idempotent. ErrUnenforceable: there can be no
	// sandbox, because something is missing here; the error says what to install.
	Preparer interface {
		Prepare(context.Context) error
	}

	// TagEditor edits tags in one step that no other writer comes between. Its
	// only caller is the function EditTags, whose rules for edit it keeps.
	TagEditor interface {
		EditTags(ctx context.Context, ref sandbox.Ref, edit func(sandbox.Tags)) error
	}

	// EndTeller destroys as Destroy does, and tells whether the sandbox had ended
	// before it was asked to: by itself, or because somebody else asked. It is false
	// where that is not known, as when the answer to the first asking was lost.
	EndTeller interface {
		DestroyTelling(context.Context, sandbox.Ref) (ended bool, err error)
	}

	// Renewer moves a sandbox's own end to until and returns the new end. It
	// never shortens a life, and refuses when the old end is past.
	Renewer interface {
		Renew(ctx context.Context, ref sandbox.Ref, until time.Time) (time.Time, error)
	}

	// NetworkEditor reads and changes the policy that is really enforced, not
	// the tag. trusted is false where code inside could forge the answer.
	NetworkEditor interface {
		Network(context.Context, sandbox.Ref) (policy sandbox.NetworkPolicy, trusted bool, err error)
		// CanSetNetwork reports, without I/O, whether a living sandbox can go from
		// one policy to the other and be held as strongly as one born with it. Where
		// it cannot, SetNetwork is ErrUnsupported and the sandbox is to be replaced.
		CanSetNetwork(from, to sandbox.NetworkPolicy) bool
		// SetNetwork makes policy as strong as it would be from birth: when it
		// returns nil, what already runs reaches nothing that policy denies, if need
		// be because it was ended. It waits for that a bounded time only; after any
		// error, calling it again completes it.
		SetNetwork(context.Context, sandbox.Ref, sandbox.NetworkPolicy) error
	}

	// ImageBuilder makes an image, content-addressed: the same spec twice is
	// one image. Progress, and what a failed command said, goes to log.
	ImageBuilder interface {
		// RefuseImage lists what this backend cannot build, by attribute ("from",
		// "dockerfile_commands", "registry_username", "secrets_wo"), without I/O;
		// BuildImage refuses the same.
		RefuseImage(ImageSpec) []Refusal
		BuildImage(ctx context.Context, spec ImageSpec, log io.Writer) (reference string, err error)
		// HasImage reports whether reference is there and usable.
		HasImage(ctx context.Context, reference string) (bool, error)
		// DeleteImage forgets reference; nil when it is gone already, ErrConflict
		// while a sandbox uses it.
		DeleteImage(ctx context.Context, reference string) error
	}

	// ImagePublisher gives an image that was built a name, under which others find
	// it; a name that another image had moves.
	ImagePublisher interface {
		// RefuseImageName lists, without I/O, what is wrong with name, as attribute
		// "publish".
		RefuseImageName(name string) []Refusal
		PublishImage(ctx context.Context, reference, name string) error
	}

	// Leftovers lists what outlives sandboxes, complete as List is. Remove
	// checks identity and use again itself: ErrConflict when either differs.
	Leftovers interface {
		Leftovers(context.Context) iter.Seq2[sandbox.Leftover, error]
		Remove(context.Context, sandbox.Leftover) error
	}

	// ServerClock tells how far the backend's clock is ahead of ours.
	ServerClock interface {
		Ahead() (d time.Duration, known bool)
	}
)

// Capabilities are what a backend can do at all, known without I/O.
type Capabilities struct {
	Attachable      bool          // Airflow's SandboxToolset can attach to its sandboxes
	OpenNetwork     bool          // block_network = false
	BlockNetwork    bool          // deny everything
	AllowHostnames  bool          // allow_egress_to
	AllowCIDRs      bool          // allow_egress_to_cidrs
	LifetimeMin     time.Duration // shortest lifetime
	LifetimeMax     time.Duration // longest lifetime; 0: unlimited
	ServerEnds      bool          // the backend ends a sandbox by itself
	Identity        bool          // Check reports the identity of the place
	Tags            TagSupport
	DefaultImage    string // what an empty image means
	DefaultWorkdir  string
	FindLag         time.Duration // until Find shows what an unanswered create made; 0: at once
	WaitGoneTimeout time.Duration // within which a destroyed sandbox is normally gone; 0: a minute
}

// TagSupport says when tags can be written.
type TagSupport int

// The kinds of TagSupport.
const (
	NoTags TagSupport = iota
	TagsAtBirth
	TagsEditable
)

// Refusal is one thing a backend will not do, and why, for the person who
// wrote the configuration.
type Refusal struct {
	Attribute string // as Terraform spells it, such as "network_policy" or "gpu"
	Reason    string
}

// Status is what Check learns.
type Status struct {
	// Identity is the witness of the place that was reached (an account, a
	// machine). Empty: the backend has none. "Gone" is believed only where it
	// equals the one recorded at creation.
	Identity string
}

// Request is one create call.
type Request struct {
	Name      string // carries the mark; unique
	Mark      string
	Spec      sandbox.Spec
	Tags      sandbox.Tags // the complete set
	ExpiresAt time.Time    // the same moment as the expiry tag
}

// ImageSpec says how to make an image. Registry and Secrets hold secrets, which
// appear in no error and no log of ours.
type ImageSpec struct {
	From     string
	Commands []string          // Dockerfile instructions
	Registry *RegistryLogin    // for From; nil: anyone may read it
	Secrets  map[string]string // environment of the commands, not of the image
}

// RegistryLogin is a user of a container registry.
type RegistryLogin struct{ Username, Password string }

// Entry is one child of a directory.
type Entry struct {
	Name      string
	Directory bool // false for a link to one
}
