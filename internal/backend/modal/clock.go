// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

// serverClock is what is known of Modal's clock. Two replies tell, where they have
// the field. The auth token, which every connection fetches first, may hold the
// moment of its issue (iat): where that is now, the clocks agree; where it is not,
// the token may just be an old one. Then the one call is made that changes nothing
// and is answered with the server's time (blob_utils.py): whether Modal's store has
// a file, as the clients ask before an upload. What else has a date is too far from
// now: the newest created_at of a list is some time past, a token's exp to come.
type serverClock struct {
	ours clock.Clock

	mu    sync.Mutex
	ahead time.Duration
	read  time.Time // by ours; zero: the clock is not known
}

// Ahead tells how far Modal's clock is from ours at least, as the latest Check
// found; a reply that took long hides what lies within that time. It is not known
// before, nor where Modal did not say.
func (a *app) Ahead() (time.Duration, bool) {
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	return a.server.ahead, !a.server.read.IsZero()
}

// note reads the time from a reply to what was asked at begun, if it has one.
func (c *serverClock) note(reply any, begun time.Time) {
	ended := c.ours.Now()
	switch reply := reply.(type) {
	case *pb.AuthTokenGetResponse:
		var claims jwt.RegisteredClaims
		_, _, err := jwt.NewParser().ParseUnverified(reply.GetToken(), &claims)
		if err != nil || claims.IssuedAt == nil {
			return
		}
		// A token counts whole seconds.
		if issued := claims.IssuedAt.Time; clock.Apart(issued, issued.Add(time.Second), begun, ended) == 0 {
			c.set(0, ended)
		}
	case *pb.MountBatchedCheckExistenceResponse:
		if reply.HasCheckedAt() {
			checked := reply.GetCheckedAt().AsTime()
			c.set(clock.Apart(checked, checked, begun, ended), ended)
		}
	}
}

func (c *serverClock) set(ahead time.Duration, read time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead, c.read = ahead, read
}

// fresh reports whether the clock was read just now; else it is forgotten.
func (c *serverClock) fresh() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.read.IsZero() && c.ours.Now().Sub(c.read).Abs() < freshFor {
		return true
	}
	c.ahead, c.read = 0, time.Time{}
	return false
}

// nothing names a file by its content: none.
var nothing = func() string {
	sum := sha256.Sum256(nil)
	return hex.EncodeToString(sum[:])
}()

// readClock asks for the time, unless the token has just told it. That Modal does
// not tell is no failure of what else is done.
func (s *session) readClock(ctx context.Context) {
	if s.server.fresh() {
		return
	}
	_, err := s.rpc.MountBatchedCheckExistence(ctx, pb.MountBatchedCheckExistenceRequest_builder{Sha256HexHashes: []string{nothing}}.Build())
	if _, known := s.Ahead(); !known {
		slog.WarnContext(ctx, "Modal does not tell its time", "place", s.Scope(), "error", err)
	}
}
