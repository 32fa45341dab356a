package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

func TestProbe(t *testing.T) {
	playAll(t, []conversation{
		{name: "probe_modern", play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			s := c.Server()
			check.That(t, s.Revision == mcp.Revision20260728 && s.Info.Name == "scripted" && s.Instructions == "be kind" && s.Capabilities.Tools != nil,
				"got server %+v", s)
			ping(t, ctx, c)
		}},
		{name: "probe_method_not_found", play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			s := c.Server()
			check.That(t, s.Revision == mcp.Revision20251125 && s.Info.Name == "scripted" && s.Instructions == "be kind", "got server %+v", s)
			ping(t, ctx, c)
		}},
		{name: "probe_invalid_params", play: speaks(mcp.Revision20251125)},
		{name: "probe_supported_data", play: speaks(mcp.Revision20251125)},
		{name: "probe_own_code", play: speaks(mcp.Revision20251125)},
		{name: "probe_url_elicitation", play: speaks(mcp.Revision20251125)},
		{name: "probe_odd_result", play: speaks(mcp.Revision20251125)},
		{name: "probe_silence", play: speaks(mcp.Revision20251125)},
		{name: "probe_death", way: "pipe", play: speaks(mcp.Revision20251125)},
		{name: "probe_unsupported_modern", play: speaks(mcp.Revision20260728)},
		{name: "probe_unsupported_legacy", play: speaks(mcp.Revision20250618)},
		{name: "probe_discover_legacy", play: speaks(mcp.Revision20251125)},
		{name: "probe_unsupported_again", refused: refusedWith(mcp.CodeUnsupportedRevision)},
		{name: "probe_unsupported_unnamed", refused: refusedWith(mcp.CodeUnsupportedRevision)},
		{name: "probe_missing_capability", refused: refusedWith(mcp.CodeMissingCapability)},
		{name: "probe_input_required", refused: func(t *testing.T, err error) {
			wantBoth(t, err, mcp.ErrInvalidResult, "resultType is not complete")
		}},
		{name: "probe_unsupported_none", refused: noCommonRevision("2031-01-01")},
		{name: "probe_discover_none", refused: noCommonRevision("2031-01-01")},
	})
}

func refusedWith(code int) func(*testing.T, error) {
	return func(t *testing.T, err error) { wantCode(t, err, code) }
}

// A forced revision is never replaced by another, whatever the server offers.
func TestForcedRevisionIsNotSpoken(t *testing.T) {
	const discovered = `{"resultType":null,"supportedVersions":["2025-11-25"],"capabilities":{}}`
	const initialized = `{"protocolVersion":"%s","capabilities":{},"serverInfo":{"name":"old","version":"1"}}`
	for forced, tt := range map[string]struct{ result, server string }{
		mcp.Revision20260728: {discovered, mcp.Revision20251125},
		mcp.Revision20251125: {fmt.Sprintf(initialized, mcp.Revision20250618), mcp.Revision20250618},
		mcp.Revision20241105: {fmt.Sprintf(initialized, mcp.Revision20251125), mcp.Revision20251125},
	} {
		bubble(t, forced, func(t *testing.T) {
			transport := newPeerTransport(t)
			transport.greet = func(p *peer) { p.reply(`{"jsonrpc":"2.0","id":%s,"result":%s}`, tt.result) }
			e := wantError[*mcpclient.RevisionError](t, connectError(t, transport, speaking(forced)))
			check.Same(t, "", e, &mcpclient.RevisionError{ClientRevisions: []string{forced}, ServerRevisions: []string{tt.server}})
		})
	}
}

func transportsTo(server *memhttp.Server) []mcpclient.Transport {
	return []mcpclient.Transport{
		&mcpclient.HTTP{URL: server.URL(), Client: server.Client()},
		&mcpclient.HTTP{URL: server.URL(), SSE: true, Client: server.Client()},
	}
}

// Connect gives up a silent server even if the caller's context has no deadline.
func TestConnectTimeout(t *testing.T) {
	for name, tt := range map[string]struct {
		deadline time.Duration // 0 for none
		want     time.Duration
		text     string
	}{
		"default": {0, 10 * time.Minute, "no connection within 10m0s (give the context of Connect a deadline"},
		"shorter": {time.Second, time.Second, "context deadline exceeded"},
		"longer":  {time.Hour, time.Hour, "context deadline exceeded"},
	} {
		bubble(t, name, func(t *testing.T) {
			transport := newPeerTransport(t)
			transport.greet = func(*peer) {}
			ctx := t.Context()
			if tt.deadline > 0 {
				ctx = withTimeout(t, tt.deadline)
			}
			start := time.Now()
			_, err := mcpclient.Connect(ctx, transport, nil)
			took := time.Since(start)
			check.That(t, took >= tt.want && took <= tt.want+time.Second, "gave up after %v, want %v", took, tt.want)
			wantBoth(t, err, context.DeadlineExceeded, tt.text)
		})
	}
}

// If the server has nothing at the path or rejects such requests, the error doubts the URL; if it is busy or wants a token, not.
func TestNothingAtTheURL(t *testing.T) {
	for status, want := range map[int]int{404: 1, 405: 1, 410: 1, 415: 1, 422: 1, 401: 0, 403: 0, 429: 0, 503: 0} {
		for era, opts := range eras() {
			bubble(t, fmt.Sprint(status, era), func(t *testing.T) {
				server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
				for _, transport := range transportsTo(server) {
					err := connectError(t, transport, opts)
					n := strings.Count(fmt.Sprint(err), "is this the URL of an MCP server?")
					check.That(t, n == want, "%T: got %v, want the hint %d times", transport, err, want)
				}
			})
		}
	}
}

// noCommonRevision checks that the error names the revisions of both sides.
func noCommonRevision(server ...string) func(*testing.T, error) {
	return func(t *testing.T, err error) {
		e := wantError[*mcpclient.RevisionError](t, err)
		check.That(t, slices.Equal(e.ServerRevisions, server) && slices.Contains(e.ClientRevisions, mcp.Revision20251125),
			"got %+v, want the server's to be %q", e, server)
		n := strings.Count(err.Error(), "no common protocol revision")
		check.That(t, n == 1 || len(e.ServerRevisions) == 0, "it says so %d times: %v", n, err)
	}
}

func TestForcedRevision(t *testing.T) {
	all := []conversation{
		{name: "forced_2026-07-28", opts: modern(), refused: func(t *testing.T, err error) {
			wantCode(t, err, mcp.CodeMethodNotFound)
			check.Text(t, err, "leave Options.Protocol.Revision empty")
		}},
		{name: "initialize_unsupported", opts: legacy(), refused: noCommonRevision("2026-07-28")},
		{name: "initialize_unknown", opts: legacy(), refused: noCommonRevision("2024-10-07")},
		{name: "initialize_refused", opts: legacy(), refused: func(t *testing.T, err error) {
			wantCode(t, err, mcp.CodeUnsupportedRevision)
			check.Text(t, err, "asked for 2025-11-25, the server speaks 2026-07-28, 2027-01-01")
		}},
	}
	for _, r := range []string{mcp.Revision20251125, mcp.Revision20250618, mcp.Revision20250326, mcp.Revision20241105} {
		all = append(all,
			conversation{name: "forced_" + r, opts: speaking(r), play: speaks(r)},
			conversation{name: "initialize_" + r, play: speaks(r)})
	}
	playAll(t, all)
}

// "The initialize request MUST NOT be cancelled by clients."
func TestInitializeIsNotCancelled(t *testing.T) {
	playAll(t, []conversation{{name: "cancel_initialize", opts: legacy(), patience: 9 * time.Second, refused: func(t *testing.T, err error) {
		check.Is(t, err, context.DeadlineExceeded)
		synctest.Wait()
	}}})
}

// mute is a connection whose server has gone before it read anything: Send fails, and Recv returns only after Close.
type mute struct{ closed chan struct{} }

func (m mute) Send(context.Context, []byte) error { return errors.New("broken pipe") }
func (m mute) Recv() ([]byte, error)              { <-m.closed; return nil, mcpclient.ErrClosed }
func (m mute) Close() error                       { close(m.closed); return nil }

// A server may end on the probe, and sending may fail before its end is noticed.
func TestProbeCannotBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := mute{make(chan struct{})}
		way, p := newPeer(t)
		go p.handshake()
		dials := 0
		c := connected(t, dialer(func(ctx context.Context) (transport.Conn, error) {
			if dials++; dials == 1 {
				return first, nil
			}
			return way.Dial(ctx)
		}), mcpclient.Options{})
		got := c.Server().Revision
		check.That(t, got == mcp.Revision20251125 && dials == 2, "got revision %s after %d dials", got, dials)
		<-first.closed
	})
}

type dialer func(context.Context) (transport.Conn, error)

func (d dialer) Dial(ctx context.Context) (transport.Conn, error) { return d(ctx) }

// A modern server that needs longer to start than the probe waits refuses initialize, or
// answers it with its own revision. Then it is probed again.
func TestSlowModernServer(t *testing.T) {
	for name, answer := range map[string]string{
		"refuses": `"error":{"code":-32601,"message":"method not found"}`,
		"answers": `"result":{"protocolVersion":"2026-07-28","capabilities":{},"serverInfo":{"name":"slow","version":"1"}}`,
	} {
		bubble(t, name, func(t *testing.T) {
			transport, p := newPeer(t)
			go func() {
				time.Sleep(8 * time.Second) // startup
				p.each(func(m message) {
					switch m.Method {
					case "server/discover":
						p.send(handshakeAnswer(m))
					case "initialize":
						p.send(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
					}
				})
			}()
			check.Equal(t, "revision", connected(t, transport, mcpclient.Options{}).Server().Revision, mcp.Revision20260728)
		})
	}
}

// A slow server that knows both eras may read the server/discover that was given up, and ask in the modern way from then on.
func TestSlowServerAsksInTheModernWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport, p := newPeer(t)
		go func() {
			time.Sleep(8 * time.Second) // startup
			p.each(func(m message) {
				switch {
				case m.Method == "initialize":
					p.send(handshakeAnswer(m))
				case m.Method == "tools/call" && m.Params.Answers == nil:
					p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":null,"resultType":"input_required","inputRequests":`+
						`{"who":{"method":"elicitation/create","params":{"message":"Name?","requestedSchema":{"type":"object","properties":{}}}}}}}`, m.ID)
				case m.Method == "tools/call":
					p.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"declined"}],"resultType":"complete"}}`, m.ID)
				}
			})
		}()
		decline := mcp.ElicitationFunc(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
		})
		c := connected(t, transport, mcpclient.Options{Elicitation: decline})
		check.Equal(t, "revision", c.Server().Revision, mcp.Revision20251125)
		check.Equal(t, "result", textOf(c.CallTool(t.Context(), "ask", nil)), "declined")
	})
}

// If the URL belongs to something else, the error says so, whatever that answers. A later invalid message does not.
func TestNotAnMCPServer(t *testing.T) {
	const hint = "is this the URL of an MCP server?"
	for name, answer := range map[string]func(http.ResponseWriter, message){
		"HTML":              body("text/html", "<html>welcome"),
		"object":            body(asJSON, `{"status":"ok"}`),
		"object with an id": body(asJSON, `{"id":7,"name":"x"}`),
		"error":             body(asJSON, `{"error":"method not allowed"}`),
		"result":            body(asJSON, `{"result":{"status":"ok"}}`),
		"error object":      body(asJSON, `{"error":{"message":"no such route"}}`),
		"text":              body(asJSON, `"ok"`),
		"list":              body(asJSON, `[{"id":1,"name":"x"}]`),
		"empty list":        body(asJSON, `[]`),
		"event":             body(asStream, "data: {\"status\":\"ok\"}\n\n"),
		"nothing":           body(asJSON, ""),
	} {
		all := eras()
		all["unknown"] = mcpclient.Options{}
		for era, opts := range all {
			bubble(t, name+"/"+era, func(t *testing.T) {
				server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, message{}) }))
				for _, transport := range transportsTo(server) {
					err := connectError(t, transport, opts)
					_, refused := errors.AsType[*mcp.RPCError](err)
					check.That(t, (refused || errors.Is(err, mcp.ErrInvalidResult)) && strings.Count(fmt.Sprint(err), hint) == 1,
						"%T: got %v, want ErrInvalidResult and once %q", transport, err, hint)
				}
				server = httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) { answer(w, m) })
				_, err := connectTo(t, server, opts).CallTool(t.Context(), "a", nil)
				check.That(t, err != nil && !strings.Contains(err.Error(), hint), "CallTool: got %v, want an error without %q", err, hint)
			})
		}
	}
}

// A legacy server that refuses server/discover and ends, at once or on initialize, is started once
// more. The error of the second server does not hide how the first one ended. A server that ignores
// the probe and ends on initialize is not started again: most such servers fail to start.
func TestServersThatDieOfTheHandshake(t *testing.T) {
	const closed = "transport: connection closed: server closed the connection"
	const running = "connect: initialize: server error -32000: another one is running (and before that, "
	greet := (*peer).handshake
	refuse := func(p *peer) { p.reply(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`) }
	busy := func(p *peer) {
		p.reply(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"another one is running"}}`)
	}
	take := func(p *peer) { p.next() }
	end := func(p *peer) { _ = p.conn.Close() }
	ignore := func(p *peer) {
		for p.next().Method != "initialize" {
		}
	}
	for name, tt := range map[string]struct {
		servers [][]func(p *peer)
		want    string // "<nil>" for a connection
	}{
		"at once":                      {[][]func(*peer){{refuse, end}, {greet}}, "<nil>"},
		"on initialize":                {[][]func(*peer){{refuse, take, end}, {greet}}, "<nil>"},
		"each on initialize":           {[][]func(*peer){{refuse, take, end}, {take, end}}, "connect: initialize: " + closed},
		"silent":                       {[][]func(*peer){{ignore, end}}, "connect: initialize: " + closed + " (and before that, server/discover: no answer within Options.Timeouts.Probe)"},
		"second refuses":               {[][]func(*peer){{take, end}, {busy, end}}, running + "server/discover: " + closed + ")"},
		"second refuses, after legacy": {[][]func(*peer){{refuse, take, end}, {busy, end}}, running + "initialize: " + closed + ")"},
	} {
		bubble(t, name, func(t *testing.T) {
			transport := newPeerTransport(t)
			transport.greet = func(p *peer) {
				for _, act := range tt.servers[transport.dialed()-1] {
					act(p)
				}
			}
			check.Equal(t, "error", fmt.Sprint(connectError(t, transport, mcpclient.Options{})), tt.want)
			check.Equal(t, "dials", transport.dialed(), len(tt.servers))
		})
	}
}

// If a server that is remembered refuses initialize, ends and cannot be started again, the error has its refusal.
func TestRememberedServerThatRefusesAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := mcpclient.Options{Protocol: mcpclient.Protocol{EraCache: new(mcpclient.EraCache)}}
		way := newChangeable(t, "s", "legacy")
		check.Must(t, connectError(t, way, opts))
		way.greet = func(p *peer) {
			p.reply(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"the licence is over"}}`)
			_ = p.conn.Close()
		}
		way.most = 2
		err := connectError(t, way, opts)
		check.Text(t, err, "no such program (and before that, initialize: ")
		check.Text(t, err, "the licence is over")
	})
}

// If a transport can only be dialed once, the error says how the first connection ended, and its advice works.
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
				return connectError(t, pipe, speaking(revision))
			}
			err := dial("")
			wantBoth(t, err, mcpclient.ErrClosed, "make a new transport, and set Options.Protocol.Revision to "+mcp.Revision20251125)
			check.That(t, !errors.Is(err, transport.ErrDialedOnce), "got %v, want what the server did", err)
			check.NoError(t, dial(mcp.Revision20251125), "as advised")
		})
	}
}

// If a server ignored the probe, ended and cannot be started again, the error mentions the silence once.
func TestSilentServerThatDoesNotStartAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		way, first := newPeerTransport(t), make(chan *peer, 1)
		way.greet = func(p *peer) { p.next(); first <- p }
		way.most = 1
		err := connectError(t, way, mcpclient.Options{Logger: slog.New(onceSaid{slog.DiscardHandler, "no modern server", new(sync.Once), func() {
			_ = (<-first).conn.Close()
			synctest.Wait()
		}})})
		check.Equal(t, "mentions of the silence", strings.Count(fmt.Sprint(err), "no answer within"), 1)
		check.Text(t, err, "no such program (and before that, server/discover: ")
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
			check.Must(t, connectError(t, transport, mcpclient.Options{Protocol: mcpclient.Protocol{EraCache: &eras}}))
			server.Close()
		}
		i := slices.Index(probes, "server/discover")
		check.That(t, i >= 0 && !slices.Contains(probes[i+1:], "server/discover"), "got %q posted to the URL, want one server/discover", probes)
	})
}
