package mcpclient_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// watching runs f with a client in session s-1 of a server with resource subscriptions.
func watching(t *testing.T, f func(t *testing.T, c *mcpclient.Client, s *sessionServer)) {
	t.Helper()
	inSessionWith(t, undeclared(legacy()), f)
}

// After a lost session the resources are subscribed in the new one, for all subscriptions to
// the same resource.
func TestSubscribeInALostSession(t *testing.T) {
	watching(t, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.forget()
		s.seen()
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() {
				noError(t, errOf(c.Subscribe(t.Context(), onResources("file:///a", "file:///b"))))
			})
		}
		calls.Wait()
		var got []string
		for _, what := range s.seen() {
			if strings.HasPrefix(what, "resources/") {
				got = append(got, strings.TrimSuffix(what, " 2025-11-25"))
			}
		}
		got = slices.DeleteFunc(got, func(what string) bool { return what == "resources/subscribe s-1" })
		if len(got) < 2 || !slices.Equal(slices.Compact(got), []string{"resources/subscribe s-2"}) {
			t.Errorf("in the new session: got %q, want both resources watched", got) // twice, if one came before the restoring
		}
	})
}

// There is an end to new sessions if the server forgets each at once.
func TestSubscribeInSessionsLostAgain(t *testing.T) {
	watching(t, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.mu.Lock()
		s.known, s.lost = "", 1000
		s.mu.Unlock()
		s.seen()
		fails(t, errOf(c.Subscribe(t.Context(), onResources("file:///a"))), "")
		got := s.seen()
		wrong(t, len(got) > 12, "got %d requests: %q", len(got), got)
	})
}

// A subscription that was being made when the connection was lost is made on the next one.
func TestSubscribeOnALostConnection(t *testing.T) {
	restarting(t, undeclared(legacy()), mcpclient.Restart{}, func(t *testing.T, c *mcpclient.Client, transport *peerTransport, p *peer) {
		subscribed := background(func() error { return errOf(c.Subscribe(t.Context(), onResources("file:///a"))) })
		p.expect("resources/subscribe")
		_ = p.conn.Close()
		p = <-transport.peers
		m := p.next()
		wrong(t, m.Method != "resources/subscribe", "on the next connection: got %+v", m)
		p.answer(m)
		noError(t, <-subscribed)
		p.quiet()
	})
}

// After a timeout the server may watch the resource or not: the next subscription to the
// resource asks again.
func TestSubscribeAfterSilence(t *testing.T) {
	inBubble(t, undeclared(legacy()), func(t *testing.T, c *mcpclient.Client, p *peer) {
		var calls sync.WaitGroup
		calls.Go(func() {
			_, err := c.Subscribe(t.Context(), onResources("file:///a"), mcpclient.WithTimeout(time.Second))
			wantIs(t, err, context.DeadlineExceeded)
		})
		p.expect("resources/subscribe")
		calls.Go(func() {
			noError(t, errOf(c.Subscribe(t.Context(), onResources("file:///a"))))
		})
		m := p.next()
		if m.Method == "notifications/cancelled" { // sent while the test continues
			m = p.next()
		}
		wrong(t, m.Method != "resources/subscribe", "of the second: got %+v", m)
		p.answer(m)
		calls.Wait()
	})
}

// A new session restores the subscriptions of the former one.
func TestNewSessionWatches(t *testing.T) {
	watching(t, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		sub := subscribed(t, t.Context(), c, onResources("file:///a"))
		s.forget()
		s.seen()
		ping(t, t.Context(), c)
		got := s.seen()
		wrong(t, !slices.Contains(got, "resources/subscribe s-2 2025-11-25"), "got %q, want the resource watched in the new session", got)
		wantChanges(t, sub, stale)
	})
}
