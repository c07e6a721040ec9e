// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// noRoute is the whole detail with which the API refuses a path that it does not
// have; of a path that it has, it says what was not found.
const noRoute = "Not Found"

// invalidToken is what Airflow 3.3.2 says, with 403, of a token that it has not
// signed; of one that is too old it says 401 (api_fastapi/core_api/security.py).
const invalidToken = "Invalid JWT token"

const (
	adviseBase = "no API v2 of Airflow is here: the URL is the one before /api/v2, and Airflow is 3.0 or later"
	advisePage = "a web page, not Airflow's API: a proxy or a log-in stands before it, the URL is wrong, or it is an Airflow 2"
	adviseRole = "the account may not read this: give it a role that reads Dag runs and task instances"
)

// subject is what a refusal is about.
type subject int

const (
	theDeployment subject = iota
	theToken
	theRole     // what the account may read
	theQuestion // Airflow has answered, and the next question is worth asking
)

// refusal is a reply that is not what was asked for.
type refusal struct {
	status int
	about  subject
	detail string // the server's words; empty: none
	class  error
	advice string // what a person may do; empty: the words say it
}

// Error says what was said and what to do.
func (r *refusal) Error() string {
	said := strconv.Itoa(r.status) + " " + http.StatusText(r.status)
	if r.detail != "" {
		said += " (" + r.detail + ")"
	}
	if r.advice == "" {
		return said + ": " + r.class.Error()
	}
	return said + ": " + r.class.Error() + ": " + r.advice
}

// Unwrap makes it an error of its class.
func (r *refusal) Unwrap() error { return r.class }

// isAbout reports whether err is a refusal about one of these.
func isAbout(err error, subjects ...subject) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && slices.Contains(subjects, r.about)
}

// refused returns why a reply is not the one that was asked for; nil: it is.
func (c *Client) refused(response *http.Response, said []byte) error {
	status, page := response.StatusCode, isPage(response, said)
	if status/100 == 2 && !page {
		return nil
	}
	r := &refusal{status: status, class: backend.ErrInvalid}
	if !page {
		r.detail = c.withoutSecrets(detailOf(said))
	}
	switch {
	case status == http.StatusInternalServerError:
		r.class, r.about = backend.ErrUnavailable, theQuestion
	case status == http.StatusTooManyRequests || status > 500:
		r.class = backend.ErrUnavailable
		if after, ok := retryAfter(response.Header.Get("Retry-After"), c.options.Clock.Now()); ok {
			return &backend.RetryAfterError{After: after, Err: r}
		}
	case page:
		r.advice = advisePage
	case status == http.StatusUnauthorized, r.detail == invalidToken:
		r.class, r.about, r.advice = backend.ErrUnauthorized, theToken, c.adviseAccount()
	case status == http.StatusForbidden:
		r.class, r.about, r.advice = backend.ErrUnauthorized, theRole, adviseRole
	case status/100 == 3:
		r.advice = "it points to " + withoutQuery(response.Header.Get("Location")) + ": use a URL that does not"
	case status == http.StatusMethodNotAllowed, status == http.StatusNotFound && (r.detail == noRoute || r.detail == ""):
		r.advice = adviseBase
	case status == http.StatusNotFound:
		r.class, r.about = backend.ErrNotFound, theQuestion
	case r.detail != "":
		r.about = theQuestion
	}
	return r
}

// notReached gives the error of a call without a whole reply its class. One that
// its context ended has none: the Caller says which bound it was.
func notReached(ctx context.Context, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // what it adds is said already
	}
	if ctx.Err() != nil {
		return err
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("%w: its certificate is not trusted: %w: correct the host name, or name the authority's file in SSL_CERT_FILE", backend.ErrInvalid, err)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || strings.Contains(err.Error(), "HTTP response to HTTPS client") {
		return fmt.Errorf("%w: it does not speak TLS: %w: the URL may have to begin with http://", backend.ErrInvalid, err)
	}
	return fmt.Errorf("%w: %w: see whether the URL is right and the API server runs", backend.ErrUnavailable, err)
}

// isPage reports whether a reply is made for a browser.
func isPage(response *http.Response, said []byte) bool {
	return strings.Contains(response.Header.Get("Content-Type"), "html") || bytes.HasPrefix(bytes.TrimSpace(said), []byte("<"))
}

// detailOf reads why a call was refused. Of a body that is not understood it
// reads where and why, and never the input that Airflow repeats: there may be a
// password in it.
func detailOf(said []byte) string {
	var reply struct{ Detail json.RawMessage }
	if err := json.Unmarshal(said, &reply); err != nil {
		return ""
	}
	var text string
	if err := json.Unmarshal(reply.Detail, &text); err == nil {
		return oneLine(text)
	}
	var faults []struct {
		Loc []any
		Msg string
	}
	if err := json.Unmarshal(reply.Detail, &faults); err != nil {
		return ""
	}
	var words []string
	for _, f := range faults {
		words = append(words, strings.Trim(fmt.Sprint(f.Loc), "[]")+": "+f.Msg)
	}
	return oneLine(strings.Join(words, "; "))
}

// oneLine cuts what a server says to what fits a message.
func oneLine(text string) string {
	const most = 300
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// withoutSecrets hides what a server may have repeated.
func (c *Client) withoutSecrets(text string) string {
	for _, secret := range []string{c.options.Token, c.options.Password, c.session.current()} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return text
}

func (c *Client) adviseAccount() string {
	if c.options.Token != "" {
		return "the token is not, or no longer, taken: give a new one"
	}
	return fmt.Sprintf("see whether the user name %q and its password are right", c.options.Username)
}

func withoutQuery(location string) string {
	before, _, _ := strings.Cut(location, "?")
	if u, err := url.Parse(before); err == nil {
		return strconv.Quote(u.Redacted())
	}
	return "another place"
}

// retryAfter reads Retry-After: seconds, or a date.
func retryAfter(header string, now time.Time) (time.Duration, bool) {
	if seconds, err := strconv.Atoi(header); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second, true
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(0, date.Sub(now)), true
	}
	return 0, false
}
