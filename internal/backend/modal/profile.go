// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// The fields of Modal's credentials. A profile stands for the others: it is a
// section of Modal's own file, which the client reads itself.
const (
	fieldTokenID     = "token_id"
	fieldTokenSecret = "token_secret"
	fieldProfile     = "profile"
)

// profile reports whether Modal's configuration file has a section name, and
// returns the credentials that make the client read it.
func profile(name string) (backend.Credentials, bool, error) {
	path, err := profilePath()
	if err != nil {
		return nil, false, err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("%w: read Modal's profiles: %w", backend.ErrUnauthorized, err)
	}
	var profiles map[string]struct {
		TokenID      string `toml:"token_id"`
		TokenSecret  string `toml:"token_secret"`
		RefreshToken string `toml:"oauth_refresh_token"`
	}
	if toml.Unmarshal(data, &profiles) != nil { // its words may quote a secret
		return nil, false, fmt.Errorf("%w: %s is not well-formed TOML", backend.ErrUnauthorized, path)
	}
	found, ok := profiles[name]
	if ok && (found.TokenID == "" || found.TokenSecret == "") && found.RefreshToken == "" {
		return nil, false, fmt.Errorf("%w: the profile %s of %s has no token_id and token_secret", backend.ErrUnauthorized, name, path)
	}
	return backend.Credentials{fieldProfile: name}, ok, nil
}

// profilePath is where Modal's clients look (config.go).
func profilePath() (string, error) {
	if path := os.Getenv("MODAL_CONFIG_PATH"); path != "" {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("%w: find Modal's profiles: %w", backend.ErrUnauthorized, err)
	}
	return filepath.Join(home, ".modal.toml"), nil
}
