// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package modal keeps sandboxes in one Modal app. It speaks through Modal's own
// Go client (github.com/modal-labs/modal-client/go), and with that client's
// generated stubs over the client's own connection where the client throws away
// what a reply holds: the list, the state, the look-up by name.
//
// Sandboxes of both generations stand side by side: V2, which the client makes
// unless a GPU or MODAL_SANDBOX_V2=0 asks for V1, and V1. Modal ends each at its
// own timeout, and no call moves that end.
//
// What is known about Modal's behaviour is cited where it matters: "measured"
// stands for what others have seen in production, "recorded" for calls that the
// real clients were seen to make.
package modal

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// What "modal:" means: Modal's first environment, and the app that Airflow's
// ModalSandboxBackend takes when it is told none.
const (
	defaultEnvironment = "main"
	defaultApp         = "airflow-sandbox"
)

// The settings of a connection.
const (
	settingEgress    = "egress_enforcement"
	settingWorkspace = "workspace"

	egressStrict = "strict" // the default, as in Airflow
	egressSNI    = "sni"
)

// Vendor is Modal: "modal://ENVIRONMENT/APP", and "modal:" for short.
var Vendor = backend.Vendor{
	Name:             "modal",
	Schemes:          []string{"modal"},
	CredentialFields: []string{fieldTokenID, fieldTokenSecret},
	Settings:         []string{settingEgress, settingWorkspace},
	Parse:            parse,
	Profile:          profile,
	Open:             open,
}

// The names that Modal's client takes (name_utils.go); both have at most 64
// characters.
var (
	environmentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
	objectName      = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	appID           = regexp.MustCompile(`^ap-[A-Za-z0-9]{22}$`)
)

func parse(u *url.URL) (backend.Connection, error) {
	app := strings.TrimSuffix(strings.TrimPrefix(u.Path, "/"), "/")
	switch {
	case u.Opaque != "":
		return backend.Connection{}, invalidURI("it reads modal://ENVIRONMENT/APP, or modal: for the app %s of the environment %s", defaultApp, defaultEnvironment)
	case u.Host == "" && app != "":
		return backend.Connection{}, invalidURI("it names an app without its environment; write modal://%s/%s", defaultEnvironment, app)
	}
	environment := cmp.Or(u.Host, defaultEnvironment)
	app = cmp.Or(app, defaultApp)
	switch {
	case !environmentName.MatchString(environment) || strings.HasPrefix(strings.ToLower(environment), "en-"):
		return backend.Connection{}, invalidURI("the environment must be 1 to 64 letters, digits, dots, dashes and underscores, begin with a letter or digit, and not with en-")
	case !objectName.MatchString(app) || appID.MatchString(app):
		return backend.Connection{}, invalidURI("the app must be a name of 1 to 64 letters, digits, dots, dashes and underscores, not an id")
	}
	settings, err := parseSettings(u.Query())
	if err != nil {
		return backend.Connection{}, err
	}
	conn := backend.Connection{Scheme: u.Scheme, Settings: settings}
	if environment != defaultEnvironment || app != defaultApp {
		conn.Authority, conn.Path = environment, "/"+app
	}
	return conn, nil
}

func parseSettings(query url.Values) (url.Values, error) {
	settings := url.Values{}
	switch egress := query.Get(settingEgress); egress {
	case "", egressStrict:
	case egressSNI:
		settings.Set(settingEgress, egress)
	default:
		return nil, invalidURI("%s is %s or %s", settingEgress, egressStrict, egressSNI)
	}
	if workspace := query.Get(settingWorkspace); workspace != "" {
		if !objectName.MatchString(workspace) {
			return nil, invalidURI("%s must be the name of a workspace, as `modal profile list` shows it", settingWorkspace)
		}
		settings.Set(settingWorkspace, workspace)
	}
	return settings, nil
}

func invalidURI(format string, args ...any) error {
	return fmt.Errorf("%w modal connection URI: %s", backend.ErrInvalid, fmt.Sprintf(format, args...))
}
