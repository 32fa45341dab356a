package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

func eras() map[string]mcpclient.Options {
	return map[string]mcpclient.Options{"legacy": legacy(), "modern": modern()}
}

// peerBubble is inBubble as a subtest.
func peerBubble(t *testing.T, name string, opts mcpclient.Options, f func(t *testing.T, c *mcpclient.Client, p *peer)) {
	t.Run(name, func(t *testing.T) { inBubble(t, opts, f) })
}

func TestOptionsRefused(t *testing.T) {
	roots := inMind()["roots/list"]
	nothing := func(mcpclient.Handler) mcpclient.Handler { return nil }
	handler := func(method string, h mcpclient.Handler) mcpclient.Options {
		return mcpclient.Options{Handlers: map[string]mcpclient.Handler{method: h}}
	}
	declared := func(capabilities string) mcpclient.Options {
		return mcpclient.Options{Protocol: mcpclient.Protocol{Capabilities: json.RawMessage(capabilities)}}
	}
	for want, opts := range map[string]mcpclient.Options{
		"Options.Protocol.Revision": {Protocol: mcpclient.Protocol{Revision: "2020-01-01"}},
		"Options.LogLevel":          {LogLevel: "loud"},
		"file://":                   {Roots: []mcp.Root{{URI: "/tmp"}}},
		"Options.Elicitation":       {Elicitation: elicitationModes{}},
		"capability has no mode":    {Elicitation: elicitationModes{}, Protocol: mcpclient.Protocol{Capabilities: json.RawMessage(`{}`)}},

		`Options.Handlers["com.example/x"] is nil`: handler("com.example/x", nil),
		"ping itself":                              handler("ping", roots),
		"its own, Options.Sampling":                handler("sampling/createMessage", roots),
		"its own, Options.Elicitation":             handler("elicitation/create", roots),
		"want one of them":                         {Handlers: map[string]mcpclient.Handler{"roots/list": roots}, Roots: []mcp.Root{}},
		"Options.Middleware[0] is nil":             {Middleware: []mcpclient.Middleware{nil}},
		"Options.Middleware[0] returned nil":       {Middleware: []mcpclient.Middleware{nothing}},
		"Options.ServerMiddleware[1] is nil":       {ServerMiddleware: []mcpclient.Middleware{nothing, nil}},
		"Options.ServerMiddleware[1] returned nil": {ServerMiddleware: []mcpclient.Middleware{(&diary{}).middleware(""), nothing}},

		"declares sampling, and Options.Sampling is nil":        declared(`{"sampling":{}}`),
		"declares roots, and Options.Roots is nil":              declared(`{"roots":{}}`),
		"Options.Protocol.Capabilities: json: cannot unmarshal": declared(`{"roots":1}`),
		"Options.Protocol.ExactCapabilities: set Capabilities":  {Protocol: mcpclient.Protocol{ExactCapabilities: true}},
	} {
		wantRefused(t, opts, want)
	}
}

func wantRefused(t *testing.T, opts mcpclient.Options, want ...string) {
	t.Helper()
	transport, _ := mcpclient.Pipe()
	err := connectError(t, transport, opts)
	for _, text := range want {
		check.Text(t, err, text)
	}
}

// elicitationModes is a handler that has itself as its capability.
type elicitationModes struct{ form, url bool }

func (m elicitationModes) Elicit(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
}

func (m elicitationModes) ElicitationCapability() mcp.ElicitationCapability {
	return mcp.ElicitationCapability{Form: m.form, URL: m.url}
}

func TestCloseFailsCalls(t *testing.T) {
	eachPeer(t, func(t *testing.T, _ string, c *mcpclient.Client, _ *peer) { closeWithin(t, c, 0) })
}

// closeWithin closes a client during many calls.
func closeWithin(t *testing.T, c *mcpclient.Client, bound time.Duration) {
	t.Helper()
	const calls = 100
	failed := make(chan error, calls)
	call := func() error { return check.Err(c.CallTool(t.Context(), "a", nil)) }
	for range calls {
		go func() { failed <- call() }()
	}
	synctest.Wait()
	start := time.Now()
	closed, again := background(c.Close), background(c.Close)
	for range calls {
		check.Is(t, <-failed, mcpclient.ErrClosed)
	}
	within(t, "failing the calls", start, 0)
	check.NoError(t, errors.Join(<-closed, <-again, c.Close()))
	within(t, "Close", start, bound)
	synctest.Wait() // the end of the session ran in host code
	check.Equal(t, "done", isDone(c), true)
	check.Equal(t, "Err", c.Err(), mcpclient.ErrClosed)
	check.Is(t, call(), mcpclient.ErrClosed, "call after Close")
	check.Is(t, c.Notify(t.Context(), "n", nil), mcpclient.ErrClosed, "notification after Close")
}

// Over HTTP, Close also ends the session, and does not wait long for a server that does not answer.
func TestCloseFailsCallsOverHTTP(t *testing.T) {
	inEras(t, func(t *testing.T, name string, opts mcpclient.Options) {
		var deleted atomic.Int32
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			if r.Method == http.MethodDelete {
				deleted.Add(1)
			}
			if len(m.ID) > 0 && len(m.ID)%2 == 0 { // half of the calls get their headers
				stream(w)
			}
			<-r.Context().Done()
		})
		client := s.Client()
		client.Transport = sessionID(client.Transport, "s-1")
		c := connectedBy(t, s.URL(), client, opts)
		sessions := map[string]int32{"legacy": 1}[name]
		closeWithin(t, c, time.Duration(sessions)*5*time.Second)
		check.Equal(t, "the session was ended times", deleted.Load(), sessions)
	})
}

func TestConnectionDies(t *testing.T) {
	eachPeer(t, func(t *testing.T, name string, c *mcpclient.Client, p *peer) {
		check.That(t, c.Err() == nil, "got Err %v of a connection that works", c.Err())
		start := time.Now()
		go func() { synctest.Wait(); _ = p.conn.Close() }()
		together(10, func() {
			wantBoth(t, check.Err(c.CallTool(t.Context(), "a", nil)), mcpclient.ErrClosed, "server closed the connection")
		})
		<-c.Done()
		within(t, "all that", start, 0)
		err := c.Err()
		check.That(t, errors.Is(err, mcpclient.ErrClosed) && err != mcpclient.ErrClosed, "got Err %v, want ErrClosed and the cause", err)
		check.NoError(t, c.Close())
		check.Equal(t, "Err after Close", c.Err(), err)
		check.Is(t, c.Ping(t.Context()), mcpclient.ErrClosed, "call afterwards")
		check.Is(t, c.Notify(t.Context(), "n", nil), mcpclient.ErrClosed, "notification afterwards")
	})
}

// A transport can be dialed repeatedly, also by several clients at the same time.
func TestConnectAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := httpServer(t, answerCall)
		transport := &mcpclient.HTTP{URL: s.URL(), Client: s.Client()}
		first, second := connected(t, transport, mcpclient.Options{}), connected(t, transport, mcpclient.Options{})
		_ = first.Close()
		for _, c := range []*mcpclient.Client{second, connected(t, transport, mcpclient.Options{})} {
			callText(t, t.Context(), c, "a", "a")
			_ = c.Close()
		}
	})
}

// Messages that a server sends before the handshake must not find a client that is not ready.
func TestServerSpeaksFirst(t *testing.T) {
	for name, opts := range map[string]mcpclient.Options{"probed": {}, "legacy": legacy(), "modern": modern()} {
		bubble(t, name, func(t *testing.T) {
			transport, p := newPeer(t)
			for _, method := range []string{"ping", "roots/list", "sampling/createMessage", "notifications/tools/list_changed"} {
				p.send(`{"id":%q,"method":%[1]q}`, method)
			}
			p.send(`{"method":"notifications/tools/list_changed"}`)
			var first message
			open := map[string]int{"legacy": 3}[name] // requests of the server that are answered before its handshake
			go p.each(func(m message) {
				switch m.Method {
				case "initialize", "server/discover":
					first = m
				case "":
					open--
					check.That(t, string(m.ID) != `"ping"` || string(m.Result) == "{}", "got %+v", m)
				}
				if open <= 0 && first.Method != "" {
					p.send(handshakeAnswer(first))
					first = message{}
				}
			})
			connected(t, transport, heeding(asks(opts)))
		})
	}
}

func TestHandlerCallsClient(t *testing.T) {
	inEras(t, func(t *testing.T, name string, opts mcpclient.Options) {
		var client atomic.Pointer[mcpclient.Client]
		var observed sync.WaitGroup
		observed.Add(1)
		opts = samples(opts, func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			callText(t, ctx, client.Load(), "inner", "inner")
			return tea(), nil
		})
		opts.OnNotification = func(*mcp.Notification) {
			defer observed.Done()
			callText(t, t.Context(), client.Load(), "observer", "observer")
		}
		c, p := connectedPeer(t, opts)
		client.Store(c)
		go func() {
			outer := p.next()
			p.send(`{"method":"n"}`)
			p.askIn(outer, name, "sampling/createMessage", samplingParams)
			for m := range p.inbox {
				switch {
				case m.Method == "tools/call":
					p.answer(m)
				case m.Result != nil:
					p.answer(outer)
				}
			}
		}()
		check.NoError(t, check.Err(c.CallTool(t.Context(), "outer", nil)))
		observed.Wait()
	})
}

// Handlers and observers that do not return delay only Done.
func TestStubbornHandlers(t *testing.T) {
	inEras(t, func(t *testing.T, name string, opts mcpclient.Options) {
		release := make(chan bool)
		defer close(release)
		opts = samples(opts, func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			<-release
			return nil, nil
		})
		opts.OnNotification = func(*mcp.Notification) { <-release }
		c, p := connectedPeer(t, opts)
		start := time.Now()
		p.send(`{"method":"n"}`)
		ctx, cancel := context.WithCancel(t.Context())
		asked := background(func() error { return check.Err(c.CallTool(ctx, "asks", nil)) })
		p.askIn(p.next(), name, "sampling/createMessage", samplingParams)
		synctest.Wait()
		go p.echo()
		callText(t, t.Context(), c, "a", "a")
		cancel()
		check.Is(t, <-asked, context.Canceled) // although the handler is still running
		within(t, "the calls", start, 0)
		check.NoError(t, c.Close())
		within(t, "Close", start, 0)
		check.Equal(t, "done", isDone(c), false)
	})
}

func TestConcurrentUse(t *testing.T) {
	for name, opts := range eras() {
		peerBubble(t, name+" pipe", asks(opts), func(t *testing.T, c *mcpclient.Client, p *peer) {
			go p.echo()
			useConcurrently(t, c)
		})
		t.Run(name+" http", func(t *testing.T) {
			overHTTP(t, asks(opts), func(w http.ResponseWriter, r *http.Request, m message) {
				switch {
				case m.Method != "tools/call":
					w.WriteHeader(http.StatusMethodNotAllowed)
				case len(m.Params.Name)%2 == 0:
					stream(w)(answerTo(m))
				default:
					answerCall(w, r, m)
				}
			}, useConcurrently)
		})
	}
}

func useConcurrently(t *testing.T, c *mcpclient.Client) {
	var users sync.WaitGroup
	for i := range 20 {
		users.Go(func() {
			for j := range 20 {
				name := fmt.Sprintf("tool-%d-%d", i, j)
				callText(t, t.Context(), c, name, name)
				switch j % 5 {
				case 0:
					_ = c.Server()
				case 1:
					_ = c.SetRoots(t.Context(), []mcp.Root{{URI: "file:///" + name}})
				case 2:
					ctx, cancel := context.WithCancel(t.Context())
					cancel()
					_, _ = c.CallTool(ctx, name, nil)
				}
			}
		})
	}
	users.Wait()
}

// AfterEnd reports the end, and Done waits for its function.
func TestAfterEnd(t *testing.T) {
	eachPeer(t, func(t *testing.T, _ string, c *mcpclient.Client, _ *peer) {
		var ended error
		check.That(t, c.AfterEnd(func(err error) { time.Sleep(time.Second); ended = err }) && c.AfterEnd(func(error) { panic("oops") }),
			"got false before the end")
		check.NoError(t, c.Close())
		<-c.Done()
		check.Equal(t, "told", ended, mcpclient.ErrClosed)
		check.That(t, !c.AfterEnd(func(error) { t.Error("called after the end") }), "got true after the end")
	})
}

// A legacy server that ignores server/discover and then refuses initialize has refused the connection.
func TestConnectRefusedAfterSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport, p := newPeer(t)
		go p.each(func(m message) {
			if m.Method == "initialize" {
				p.send(`{"id":%s,"error":{"code":-32000,"message":"API_KEY is missing"}}`, m.ID)
			}
		})
		start := time.Now()
		check.Text(t, connectError(t, transport, mcpclient.Options{}), "API_KEY is missing")
		within(t, "Connect", start, 11*time.Second)
	})
}

func TestConnectWithoutTransport(t *testing.T) {
	for _, transport := range []mcpclient.Transport{
		nil, (*mcpclient.Command)(nil), (*mcpclient.HTTP)(nil), (*mcpclient.IO)(nil),
	} {
		want := fmt.Sprintf("connect: no transport (a nil %T)", transport)
		if transport == nil {
			want = "connect: no transport (nil)"
		}
		for name, opts := range map[string]*mcpclient.Options{"plain": nil, "era cache": {Protocol: mcpclient.Protocol{EraCache: &mcpclient.EraCache{}}}} {
			_, err := mcpclient.Connect(t.Context(), transport, opts)
			check.That(t, err != nil && strings.HasPrefix(err.Error(), want), "%T, %s: got %v, want %q", transport, name, err, want)
		}
		if transport != nil {
			check.Text(t, check.Err(transport.Dial(t.Context())), "no transport", "dial")
		}
	}
}

// nowhere is a transport that breaks its contract.
type nowhere struct{}

func (nowhere) Dial(context.Context) (transport.Conn, error) { return nil, nil }

func TestConnectWithoutConnection(t *testing.T) {
	check.Text(t, check.Err(mcpclient.Connect(t.Context(), nowhere{}, nil)), "nowhere.Dial returned no connection")
}

func TestMetaOfServerIsKept(t *testing.T) {
	for revision, answer := range map[string]string{
		mcp.Revision20260728: `{"supportedVersions":["2026-07-28","2027-01-01"],"capabilities":{"com.example/x":{"y":1}},"_meta":{"k":1}}`,
		mcp.Revision20251125: `{"protocolVersion":"2025-11-25","capabilities":{"com.example/x":{"y":1}},"serverInfo":{"name":"s","version":"1"},"_meta":{"k":1}}`,
	} {
		got := connected(t, library(map[string]string{"server/discover": answer, "initialize": answer}), speaking(revision)).Server()
		check.Equal(t, revision, string(got.Meta), `{"k":1}`)
	}
}
