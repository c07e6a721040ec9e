// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"errors"
	"net/url"
	"strings"
)

// BaseURL checks the address of an API server and returns it as calls use it: it
// is what stands before "/api/v2", without a slash at its end. Its errors do not
// repeat the address, because what is wrong with it may be a secret.
func BaseURL(address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return "", errors.New("want an address such as https://airflow.example.com")
	case u.User != nil || strings.ContainsAny(address, "?#"):
		return "", errors.New("want the address alone, without a user or a password, or what begins with ? or #")
	}
	base := strings.TrimRight(u.String(), "/")
	for _, end := range []string{"/api/v1", "/api/v2", "/api"} {
		if strings.HasSuffix(base, end) {
			return "", errors.New("want the address of the server, without " + end)
		}
	}
	return base, nil
}
