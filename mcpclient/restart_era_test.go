package mcpclient_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A server that fails one attempt of a restart like a legacy server, and then returns
// unchanged, has not changed its era.
func TestFailedAttemptInAnotherEra(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := newPeerTransport(t)
		transport.greet = func(p *peer) {
			if transport.dialed() != 2 {
				p.handshake()
				return
			}
			p.send("%s", refusal(p.next(), `-32601,"message":"starting"`))
			p.next()
			_ = p.conn.Close()
		}
		c := connected(t, transport, mcpclient.Options{Restart: &mcpclient.Restart{}})
		p := <-transport.peers
		go p.acknowledge()
		s := subscribed(t, t.Context(), c, onTools)
		_ = p.conn.Close()
		<-transport.peers
		go (<-transport.peers).acknowledge()
		wantChanges(t, s, stale)
	})
}

// acknowledge agrees to the next subscription.
func (p *peer) acknowledge() { p.send("%s", acknowledgement(p.next(), "")) }

// A server that ends and returns in another era, also at the second attempt, is probed again.
// Subscriptions end, because they would get no more changes.
func TestRestartInAnotherEra(t *testing.T) {
	for from, to := range map[string]string{"legacy": "modern", "modern": "legacy"} {
		for _, failures := range []int{0, 1} {
			bubble(t, fmt.Sprint(from, failures), func(t *testing.T) {
				transport := newChangeable(t, "", from)
				transport.greet = func(p *peer) {
					if n := transport.dialed(); n > 1 && n <= 1+failures {
						p.send("%s", refusal(p.next(), `-32601,"message":"no"`))
						p.next()
						_ = p.conn.Close()
						return
					}
					transport.answer(p)
				}
				c := connected(t, transport, mcpclient.Options{Restart: &mcpclient.Restart{}})
				p := <-transport.peers
				if from == "modern" {
					go p.acknowledge()
				}
				s := subscribed(t, t.Context(), c, onTools)
				transport.become(to)
				_ = p.conn.Close()
				for range 1 + failures {
					p = <-transport.peers
				}
				go p.echo()
				callText(t, t.Context(), c, "a", "a")
				equal(t, "modern", c.Server().Revision == mcp.Revision20260728, to == "modern")
				wantBoth(t, end(s), mcpclient.ErrSubscriptionEnded, "another era")
			})
		}
	}
}

// A server that ends and returns updated or rolled back is used in its new era. The call in
// progress fails, because it may have run.
func TestServerThatComesBackInAnotherEra(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		transport := newChangeable(t, "", "modern")
		c := connected(t, transport, mcpclient.Options{Restart: &mcpclient.Restart{}})
		for i := range 4 {
			p := <-transport.peers
			died := make(chan struct{})
			go func() {
				defer close(died)
				for m := range p.inbox {
					ran++
					if m.Params.Name == "die" {
						_ = p.conn.Close()
						return
					}
					p.answer(m)
				}
			}()
			callText(t, t.Context(), c, "a", "a")
			equal(t, "speaks", c.Server().Revision, []string{mcp.Revision20260728, mcp.Revision20251125}[i%2])
			transport.become([]string{"legacy", "modern"}[i%2])
			if _, err := c.CallTool(t.Context(), "die", nil); !errors.Is(err, mcpclient.ErrConnectionLost) || mcpclient.Unsent(err) {
				t.Errorf("got %v, want %v", err, mcpclient.ErrConnectionLost)
			}
			<-died
		}
		equal(t, "calls ran", ran, 8)
	})
}
