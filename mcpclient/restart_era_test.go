package mcpclient_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A server that fails one attempt of a restart like a legacy server, and then returns
// unchanged, has not changed its era.
func TestFailedAttemptInAnotherEra(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := newPeerTransport(t)
		dial := 0
		transport.greet = func(p *peer) {
			dial++
			if dial == 2 { // starting: knows no method yet, and then ends
				m := p.next()
				p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
				p.next()
				_ = p.conn.Close()
				return
			}
			p.reply(`{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}}`)
		}
		c := connected(t, transport, mcpclient.Options{Restart: &mcpclient.Restart{}})
		p := <-transport.peers
		ack := func(p *peer) {
			m := p.next()
			p.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true}}}`, m.ID)
		}
		subscribing := make(chan *mcpclient.Subscription)
		go func() { subscribing <- subscribed(t, t.Context(), c, onTools) }()
		ack(p)
		s := <-subscribing
		_ = p.conn.Close()
		<-transport.peers
		p = <-transport.peers
		acked := make(chan struct{})
		go func() {
			defer close(acked)
			if m, ok := <-p.inbox; ok {
				p.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true}}}`, m.ID)
			}
		}()
		for change, err := range s.Changes(t.Context()) {
			if err != nil || change.Kind != mcp.Stale {
				t.Errorf("got %v, %v, want stale: the server speaks what it spoke", change, err)
			}
			break
		}
		_ = c.Close()
		<-acked
	})
}

// If a legacy server returns as a modern one at the second attempt, subscriptions end, because
// they would get no more changes.
func TestAnotherEraAtTheSecondAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := newPeerTransport(t)
		dial := 0
		transport.greet = func(p *peer) {
			dial++
			m := p.next()
			if dial == 1 {
				p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
				p.reply(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"peer","version":"1"}}}`)
				p.next()
				return
			}
			p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID) // initialize
			m = p.next()
			if dial == 2 {
				_ = p.conn.Close()
				return
			}
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}}`, m.ID)
		}
		c := connected(t, transport, mcpclient.Options{Restart: &mcpclient.Restart{}})
		p := <-transport.peers
		s := subscribed(t, t.Context(), c, onTools)
		_ = p.conn.Close()
		<-transport.peers
		p = <-transport.peers
		go p.echo()
		callText(t, t.Context(), c, "a", "a")
		ctx := withTimeout(t, time.Hour)
		for change, err := range s.Changes(ctx) {
			if !errors.Is(err, mcpclient.ErrSubscriptionEnded) {
				t.Errorf("got %v, %v after %s, want the end of the subscription", change, err, c.Server().Revision)
			}
			break
		}
		_ = c.Close()
	})
}

// A server that ends and returns updated or rolled back is used in its new era. The call in
// progress fails, because it may have run.
func TestServerThatComesBackInAnotherEra(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := newPeerTransport(t)
		dial, ran := 0, 0
		transport.greet = func(p *peer) {
			dial++
			modern := dial%2 == 1
			for {
				m := p.next()
				switch {
				case modern == (m.Method == "server/discover"):
					p.send("%s", handshakeAnswer(m))
				case m.Method == "notifications/initialized":
				default:
					p.send("%s", refusal(m, `-32601,"message":"no"`))
					continue
				}
				if modern || m.Method == "notifications/initialized" {
					return
				}
			}
		}
		c := connected(t, transport, mcpclient.Options{Restart: &mcpclient.Restart{}})
		for i := range 4 {
			p := <-transport.peers
			want := []string{mcp.Revision20260728, mcp.Revision20251125}[i%2]
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
			equal(t, "speaks", c.Server().Revision, want)
			if _, err := c.CallTool(t.Context(), "die", nil); !errors.Is(err, mcpclient.ErrConnectionLost) || mcpclient.Unsent(err) {
				t.Errorf("got %v, want %v", err, mcpclient.ErrConnectionLost)
			}
			<-died
		}
		equal(t, "calls ran", ran, 8)
	})
}
