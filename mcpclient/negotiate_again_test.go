package mcpclient_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// A legacy server that refuses server/discover and ends is started again for initialize.
func TestProbeRefusedByDyingServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := newPeerTransport(t)
		transport.greet = func(p *peer) {
			if transport.dialed() == 1 {
				p.reply(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`)
				_ = p.conn.Close()
				return
			}
			p.handshake()
		}
		c := connected(t, transport, mcpclient.Options{})
		if got := c.Server().Revision; got != mcp.Revision20251125 || transport.dialed() != 2 {
			t.Errorf("got revision %s after %d dials, want 2025-11-25 after 2", got, transport.dialed())
		}
	})
}

// The server may also end a moment later, before it answers initialize: that is sent once more,
// on one new connection.
func TestProbeRefusedByServerThatDiesLater(t *testing.T) {
	for last, want := range map[int]string{1: "", 2: "connect: initialize: transport: connection closed: the server closed the connection"} {
		synctest.Test(t, func(t *testing.T) {
			transport := newPeerTransport(t)
			transport.greet = func(p *peer) {
				if transport.dialed() > last {
					p.handshake()
					return
				}
				m := p.next()
				if m.Method == "server/discover" {
					p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
					m = p.next()
				}
				equal(t, "", m.Method, "initialize")
				_ = p.conn.Close()
			}
			err := connectError(t, transport, mcpclient.Options{})
			if got := fmt.Sprint(err); transport.dialed() != 2 || (want == "" && err != nil) || (want != "" && got != want) {
				t.Errorf("died %d times: got %q after %d dials, want %q after 2", last, got, transport.dialed(), want)
			}
		})
	}
}

// A server that ignores the probe and ends on initialize is not started again: most such
// servers fail to start.
func TestSilentServerThatDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := newPeerTransport(t)
		transport.greet = func(p *peer) {
			for p.next().Method != "initialize" {
			}
			_ = p.conn.Close()
		}
		_, err := mcpclient.Connect(t.Context(), transport, nil)
		wrong(t, err == nil || transport.dialed() != 1, "got %v after %d dials, want an error after 1", err, transport.dialed())
	})
}

// The error of the second server does not hide how the first one ended, on server/discover or
// on initialize.
func TestSecondServerThatRefuses(t *testing.T) {
	for answers, want := range []string{"server/discover: ", "initialize: "} {
		synctest.Test(t, func(t *testing.T) {
			way := newPeerTransport(t)
			way.greet = func(p *peer) {
				m := p.next()
				if way.dialed() == 2 {
					p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"another one is running"}}`, m.ID)
				}
				if way.dialed() == 1 && answers == 1 {
					p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
					p.next()
				}
				_ = p.conn.Close()
			}
			_, err := mcpclient.Connect(t.Context(), way, nil)
			want := "connect: initialize: server error -32000: another one is running (and before that, " + want + "transport: connection closed: the server closed the connection)"
			wrong(t, fmt.Sprint(err) != want, "got %v\nwant %s", err, want)
		})
	}
}

// If a server that is remembered refuses initialize, ends and cannot be started again, the
// error has its refusal.
func TestRememberedServerThatRefusesAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var eras mcpclient.EraCache
		way := newChangeable(t, "s", "legacy")
		c := connected(t, way, mcpclient.Options{Protocol: mcpclient.Protocol{EraCache: &eras}})
		_ = c.Close()
		way.greet = func(p *peer) {
			p.reply(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"the licence is over"}}`)
			_ = p.conn.Close()
		}
		way.fails = func(dial int) error {
			if dial > 2 {
				return errors.New("no such program")
			}
			return nil
		}
		_, err := mcpclient.Connect(t.Context(), way, &mcpclient.Options{Protocol: mcpclient.Protocol{EraCache: &eras}})
		for _, want := range []string{"no such program (and before that, initialize: ", "the licence is over"} {
			got := fmt.Sprint(err)
			wrong(t, !strings.Contains(got, want), "got %q, want %q in it", got, want)
		}
	})
}

// If a transport can only be dialed once, the error says how the first connection ended, and
// its advice works.
func TestServerThatDiesOnAPipe(t *testing.T) {
	for name, answers := range map[string]int{"on server/discover": 0, "on initialize": 1} {
		bubble(t, name, func(t *testing.T) {
			dial := func(revision string) error {
				pipe, p := newPeer(t)
				go func() {
					for n := 0; ; n++ {
						switch m := p.next(); {
						case m.Method == "initialize" && n == 0:
							p.send(handshakeAnswer(m))
							return
						case n == answers:
							_ = p.conn.Close()
							return
						default:
							p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
						}
					}
				}()
				return connectError(t, pipe, mcpclient.Options{Protocol: mcpclient.Protocol{Revision: revision}})
			}
			err := dial("")
			const advice = "make a new transport, and set Options.Protocol.Revision to " + mcp.Revision20251125
			if errors.Is(err, transport.ErrDialedOnce) || !errors.Is(err, mcpclient.ErrClosed) || !strings.Contains(fmt.Sprint(err), advice) {
				t.Errorf("got %v, want what the server did", err)
			}
			noError(t, dial(mcp.Revision20251125), "as advised")
		})
	}
}

// If a server ignored the probe, ended and cannot be started again, the error mentions the
// silence once.
func TestSilentServerThatDoesNotStartAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		way := newPeerTransport(t)
		first := make(chan *peer, 1)
		way.greet = func(p *peer) { p.next(); first <- p }
		way.fails = func(dial int) error {
			if dial > 1 {
				return errors.New("no such program")
			}
			return nil
		}
		log := slog.New(onceSaid{slog.DiscardHandler, "no modern server", new(sync.Once), func() {
			_ = (<-first).conn.Close()
			synctest.Wait()
		}})
		_, err := mcpclient.Connect(t.Context(), way, &mcpclient.Options{Logger: log})
		if got := fmt.Sprint(err); strings.Count(got, "no answer within") != 1 || !strings.Contains(got, "no such program (and before that, server/discover: ") {
			t.Errorf("got %q, want both failures once", got)
		}
	})
}

// That a server has only HTTP+SSE is remembered for its URL, whichever transport found it.
func TestEraCacheOfSSEFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var probes []string
		var eras mcpclient.EraCache
		for range 2 {
			s := newOldServer(t)
			server := served(t, func(w http.ResponseWriter, r *http.Request, _ message) {
				if r.Method == http.MethodPost && r.URL.Path != "/messages" {
					probes = append(probes, r.Header.Get("Mcp-Method"))
				}
				s.ServeHTTP(w, r)
			})
			go s.shake()
			transport := &mcpclient.HTTP{URL: server.URL(), Client: server.Client(), Header: http.Header{"X-Key": {"k"}}}
			c := connected(t, transport, mcpclient.Options{Protocol: mcpclient.Protocol{EraCache: &eras}})
			_ = c.Close()
			server.Close()
		}
		i := slices.Index(probes, "server/discover")
		wrong(t, i < 0 || slices.Contains(probes[i+1:], "server/discover"), "got %q posted to the URL, want one server/discover", probes)
	})
}
