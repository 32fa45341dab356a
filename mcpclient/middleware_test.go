package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// diary records in order what middleware sees.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) write(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// read returns the entries since the last read.
func (d *diary) read() []string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.lines
	d.lines = nil
	return out
}

func (d *diary) middleware(name string) mcpclient.Middleware {
	return handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
		d.write("%s > %s", name, strings.TrimSpace(r.Method+" "+r.Name))
		raw, err := next(ctx, r)
		if err != nil {
			d.write("%s < %v", name, err)
		} else {
			d.write("%s < %s", name, r.Method)
		}
		return raw, err
	})
}

func handlerOf(fn func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error)) mcpclient.Middleware {
	return func(next mcpclient.Handler) mcpclient.Handler {
		return func(ctx context.Context, r *mcpclient.Request) (json.RawMessage, error) { return fn(ctx, r, next) }
	}
}

func changing(change func(r *mcpclient.Request)) mcpclient.Middleware {
	return handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
		change(r)
		return next(ctx, r)
	})
}

func gives(raw json.RawMessage, err error) mcpclient.Middleware {
	return handlerOf(func(context.Context, *mcpclient.Request, mcpclient.Handler) (json.RawMessage, error) { return raw, err })
}

// answers answers all requests after the handshake, and those of the tool "ask" after a sampling request, in the era's way.
func (p *peer) answers() {
	asking := map[string]message{}
	for m := range p.inbox {
		switch {
		case m.Method == "tools/call" && m.Params.Name == "ask" && strings.Contains(string(m.Params.Meta), "clientInfo"):
			if m.Params.Answers == nil {
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{"q":{"method":"sampling/createMessage","params":%s}}}}`, m.ID, samplingParams)
				continue
			}
			p.answer(m)
		case m.Method == "tools/call" && m.Params.Name == "ask":
			asking["1"] = m
			p.ask("1")
		case m.Method == "tools/call":
			p.answer(m)
		case m.Method == "":
			p.answer(asking[string(m.ID)])
		case m.ID != nil:
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		}
	}
}

// Both eras look the same to middleware: there is one request for a call with its question, the
// first middleware is outermost, and handlers see the values of its context.
func TestMiddleware(t *testing.T) {
	eachEra(t, func(t *testing.T, name string, opts mcpclient.Options) {
		var d diary
		opts.Middleware = []mcpclient.Middleware{
			d.middleware("outer"),
			handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
				return next(context.WithValue(ctx, contextKey("span"), r.Name), r)
			}),
			d.middleware("inner"),
		}
		opts.ServerMiddleware = []mcpclient.Middleware{d.middleware("asked"), d.middleware("last")}
		opts = samples(opts, func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			d.write("handler in %v", ctx.Value(contextKey("span")))
			return tea(), nil
		})
		inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
			want := []string{"outer > initialize", "inner > initialize", "inner < initialize", "outer < initialize",
				"outer > notifications/initialized", "inner > notifications/initialized", "inner < notifications/initialized", "outer < notifications/initialized"}
			if name == "modern" {
				want = []string{"outer > server/discover", "inner > server/discover", "inner < server/discover", "outer < server/discover"}
			}
			check.Same(t, "handshake", d.read(), want)
			go p.answers()
			callText(t, t.Context(), c, "ask", "ask")
			want = []string{"outer > tools/call ask", "inner > tools/call ask",
				"asked > sampling/createMessage", "last > sampling/createMessage", "handler in ask",
				"last < sampling/createMessage", "asked < sampling/createMessage",
				"inner < tools/call", "outer < tools/call"}
			check.Same(t, "call", d.read(), want)
			check.NoError(t, c.Notify(t.Context(), "notifications/acme", nil))
			check.Fails(t, check.Err(mcpclient.ListPage[mcp.Resource](t.Context(), c, nil)), "resources that are not offered")
			want = []string{"outer > notifications/acme", "inner > notifications/acme", "inner < notifications/acme", "outer < notifications/acme"}
			check.Same(t, "notification", d.read(), want)
		})
	})
}

// Middleware sees the request, its ids, and the server's result.
func TestMiddlewareRequest(t *testing.T) {
	eachEra(t, func(t *testing.T, name string, opts mcpclient.Options) {
		var call, asked mcpclient.Request
		var origin mcp.Origin
		var result string
		opts.Middleware = []mcpclient.Middleware{handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
			check.Equal(t, "id before it was sent", r.ID(), 0)
			check.That(t, r.Client.SessionID() == "" && r.Client.Transport() != nil, "got a session or no transport over a pipe")
			again := *r
			raw, err := next(ctx, &again)
			if r.Method == "tools/call" {
				call, result = *r, string(raw)
			}
			return raw, err
		})}
		opts.ServerMiddleware = []mcpclient.Middleware{handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
			asked = *r
			origin, _ = mcp.OriginFrom(ctx)
			return next(ctx, r)
		})}
		opts = samples(opts, answersTea)
		inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
			go p.answers()
			check.Must(t, check.Err(c.CallTool(t.Context(), "ask", map[string]int{"a": 1}, mcpclient.WithMeta("k", json.RawMessage("2")))))
			check.That(t, call.Client == c && call.Name == "ask" && string(call.Params) == `{"name":"ask","arguments":{"a":1}}` && string(call.Meta["k"]) == "2",
				"call: got %+v", call)
			if wantID := map[string]int64{"legacy": 2, "modern": 3}[name]; call.ID() != wantID { // two rounds
				t.Errorf("got id %d, want %d", call.ID(), wantID)
			}
			check.That(t, strings.Contains(result, `"text":"ask"`), "got result %s", result)
			check.That(t, asked.Client == c && origin.Call.Name == call.Name && string(asked.Params) == samplingParams && string(asked.Meta["k"]) == "1",
				"question: got %+v of %+v, want the call of %s", asked, origin, call.Name)
		})
	})
}

// Changes that middleware makes to the request reach the server.
func TestMiddlewareChangesRequest(t *testing.T) {
	eachEra(t, func(t *testing.T, name string, opts mcpclient.Options) {
		opts.Middleware = []mcpclient.Middleware{handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
			switch r.Method {
			case "tools/call":
				delete(r.Meta, "gone")
				r.Params = json.RawMessage("{\n\"name\": \"other\", \"arguments\": {}}")
			case "notifications/acme":
				r.Params = json.RawMessage(`{"name":"n"}`)
			}
			again := *r
			again.Meta = maps.Clone(r.Meta)
			again.Meta["traceparent"] = json.RawMessage(`"00-1"`)
			return next(ctx, &again)
		})}
		inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
			go callText(t, t.Context(), c, "a", "other", mcpclient.WithMeta("gone", json.RawMessage("1")), mcpclient.WithMeta("kept", json.RawMessage("1")))
			m := p.next()
			var meta map[string]any
			check.Must(t, json.Unmarshal(m.Params.Meta, &meta))
			maps.DeleteFunc(meta, func(key string, _ any) bool {
				return strings.HasPrefix(key, "io.modelcontextprotocol/") || key == "progressToken"
			})
			check.Same(t, "_meta", meta, map[string]any{"traceparent": "00-1", "kept": 1.0})
			p.answer(m)
			synctest.Wait()
			check.NoError(t, c.Notify(t.Context(), "notifications/acme", map[string]any{"_meta": map[string]int{"own": 1}}))
			m = p.next()
			check.That(t, m.Params.Name == "n" && strings.Contains(string(m.Params.Meta), `"traceparent":"00-1"`) && strings.Contains(string(m.Params.Meta), `"own":1`), "notification: got %+v", m)
		})
	})
}

// Middleware may answer itself, change a result, and call next again.
func TestMiddlewareAnswers(t *testing.T) {
	boom := errors.New("boom")
	made := json.RawMessage(`{"content":[{"type":"text","text":"made"}]}`)
	for name, test := range map[string]struct {
		middleware mcpclient.Middleware
		sent       int
		text       string
		err        error
		says       string
	}{
		"without the server": {gives(made, nil), 0, "made", nil, ""},
		"another answer": {handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
			_, err := next(ctx, r)
			return made, err
		}), 1, "made", nil, ""},
		"again": {handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
			first, err := next(ctx, r)
			if err != nil || !strings.Contains(string(first), `"a"`) {
				return nil, err
			}
			r.Params = json.RawMessage(`{"name":"b"}`)
			return next(ctx, r)
		}), 2, "b", nil, ""},
		"an error": {handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
			_, _ = next(ctx, r)
			return nil, fmt.Errorf("not today: %w", boom)
		}), 1, "", boom, `call tool "a": not today: boom`},
		"nothing":                  {gives(nil, nil), 0, "", mcp.ErrInvalidResult, "want a JSON object"},
		"no object":                {gives(json.RawMessage("[1]"), nil), 0, "", mcp.ErrInvalidResult, "want a JSON object"},
		"broken":                   {gives(json.RawMessage("{"), nil), 0, "", mcp.ErrInvalidResult, "not valid JSON"},
		"a key of the protocol":    {changing(func(r *mcpclient.Request) { r.Meta["progressToken"] = json.RawMessage("1") }), 0, "", nil, `"progressToken" belongs to the protocol`},
		"a broken entry":           {changing(func(r *mcpclient.Request) { r.Meta["k"] = json.RawMessage("{") }), 0, "", nil, `value of "k"`},
		"broken params":            {changing(func(r *mcpclient.Request) { r.Params = json.RawMessage("[]") }), 0, "", nil, "want a JSON object"},
		"_meta in the wrong place": {changing(func(r *mcpclient.Request) { r.Params = json.RawMessage(`{"name":"a","_meta":{"k":1}}`) }), 0, "", nil, "Request.Meta"},
		"a request from nowhere": {handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
			return next(ctx, &mcpclient.Request{Method: r.Method})
		}), 0, "", nil, "nor a copy"},
		"a panic": {changing(func(*mcpclient.Request) { panic("oops") }), 0, "", nil, "middleware panicked"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, opts := range []mcpclient.Options{legacy(), modern()} {
				opts.Middleware = []mcpclient.Middleware{handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
					if r.Method != "tools/call" {
						return next(ctx, r)
					}
					return test.middleware(next)(ctx, r)
				})}
				inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
					sent := 0
					go p.each(func(m message) { sent++; p.answer(m) })
					res, err := c.CallTool(t.Context(), "a", nil)
					if test.text != "" {
						check.Equal(t, "answer", textOf(res, err), test.text)
					} else if check.Text(t, err, test.says); test.err != nil {
						check.Is(t, err, test.err)
					}
					synctest.Wait()
					check.Equal(t, "requests to the server", sent, test.sent)
				})
			}
		})
	}
}

// A repeated call is one request, and a result from the cache is none.
func TestMiddlewareSeesCallsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		n := 0
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			if n++; n == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","ttlMs":60000,"tools":[]}}`, m.ID)
		})
		o := modern()
		o.Middleware = []mcpclient.Middleware{d.middleware("m")}
		c := connectTo(t, s, o)
		d.read()
		for range 2 {
			check.NoError(t, check.Err(collect(c.Tools(t.Context()), toolName)))
		}
		diff := cmp.Diff(d.read(), []string{"m > tools/list", "m < tools/list"})
		check.That(t, diff == "" && n == 2, "after %d requests: got -, want +:\n%s", n, diff)
	})
}

// The errors that middleware gets have no secrets of the connection.
func TestMiddlewareErrorsAreScrubbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{"q":{"method":"sampling/createMessage","params":%s}}}}`, m.ID, samplingParams)
		})
		o := samples(modern(), func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return nil, errors.New("no model for secret-key")
		})
		o.Middleware = []mcpclient.Middleware{d.middleware("m")}
		c := connected(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client(), Header: http.Header{"X-Key": {"secret-key"}}}, o)
		d.read()
		_, err := c.CallTool(t.Context(), "a", nil)
		lines := d.read()
		check.That(t, err != nil && len(lines) == 2 && strings.Contains(lines[1], "[secret]") && !strings.Contains(lines[1], "secret-key"),
			"got %v, and saw %q", err, lines)
	})
}

// During the handshake no capability of the server is known yet.
func TestMiddlewareCallsDuringHandshake(t *testing.T) {
	eachEra(t, func(t *testing.T, _ string, opts mcpclient.Options) {
		var callErr error
		opts.Middleware = []mcpclient.Middleware{changing(func(r *mcpclient.Request) {
			if r.Method == "initialize" || r.Method == "server/discover" {
				_, callErr = r.Client.CallTool(t.Context(), "x", nil)
			}
		})}
		connectedPeer(t, opts)
		check.Is(t, callErr, mcpclient.ErrUndeclared)
	})
}

// The stream of a subscription is a request that lasts; in the legacy era each resource is one.
func TestMiddlewareOfSubscription(t *testing.T) {
	var d diary
	opts := modern()
	opts.Middleware = []mcpclient.Middleware{d.middleware("m")}
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		d.read()
		for _, ended := range []bool{false, true} {
			first := make(chan message, 1)
			go func() {
				m := p.next()
				p.send("%s", acknowledgement(m, ""))
				first <- m
			}()
			s := subscribed(t, t.Context(), c, onTools)
			check.Same(t, "", d.read(), []string{"m > subscriptions/listen"})
			m := <-first
			want := "m < context canceled"
			if ended {
				want = "m < subscriptions/listen"
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete"}}`, m.ID)
				check.Is(t, end(s), mcpclient.ErrSubscriptionEnded)
			}
			check.NoError(t, s.Close())
			check.Same(t, "", d.read(), []string{want})
			if !ended {
				p.next() // notifications/cancelled
			}
		}
	})
}

// Server middleware may change the question and the answer, and answer itself.
func TestServerMiddleware(t *testing.T) {
	ask := func(r *mcpclient.Request, text string) {
		r.Params = json.RawMessage(strings.Replace(string(r.Params), `"text":"?"`, `"text":"`+text+`"`, 1))
	}
	for name, test := range map[string]struct {
		middleware mcpclient.Middleware
		result     string // part of it
		code       int
	}{
		"another question": {changing(func(r *mcpclient.Request) { ask(r, "changed") }), `"changed"`, 0},
		"another answer": {handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
			raw, err := next(ctx, r)
			return json.RawMessage("{\n\"was\": " + string(raw) + "}"), err
		}), `"was":{`, 0},
		"a refusal": {gives(nil, &mcp.RPCError{Code: -32000, Message: "not today"}), "", -32000},
		"no object": {gives(json.RawMessage("1"), nil), "", mcp.CodeInternalError},
		"a panic":   {changing(func(*mcpclient.Request) { panic("oops") }), "", mcp.CodeInternalError},
		"a handler's panic": {handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
			ask(r, "panic")
			check.Fails(t, check.Err(next(ctx, r)), "a panic")
			return json.RawMessage(`{"made":1}`), nil
		}), `"made"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			opts := samples(legacy(), func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				text := p.Messages[0].Content[0].(*mcp.TextContent).Text
				if text == "panic" {
					panic(text)
				}
				return &mcp.CreateMessageResult{Model: text, Content: []mcp.Content{&mcp.TextContent{Text: "tea"}}}, nil
			})
			opts.ServerMiddleware = []mcpclient.Middleware{test.middleware}
			inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
				if p.ask("1"); test.code != 0 {
					p.refused(test.code)
				} else {
					check.Contains(t, "", strings.ReplaceAll(string(p.next().Result), " ", ""), test.result)
				}
			})
		})
	}
}

// HTTP.WrapTransport wraps the caller's client once, without modifying it, over both transports.
func TestHTTPRoundTripper(t *testing.T) {
	for name, want := range map[string]struct {
		wraps int
		seen  string // methods, sorted
	}{
		"HTTP":     {1, "GET POST POST POST"}, // initialize, initialized, stream, call
		"SSE":      {1, "GET POST POST POST"},
		"fallback": {2, "GET POST POST POST POST"},
	} {
		bubble(t, name, func(t *testing.T) {
			handler := httpHandler(func(w http.ResponseWriter, r *http.Request, m message) {
				check.Equal(t, "a request went past the round tripper", r.Header.Get("X-Key"), "k")
				if r.Method == http.MethodGet {
					w.WriteHeader(http.StatusMethodNotAllowed)
					return
				}
				_, _ = jsonWriter(w).Write([]byte(answerTo(m)))
			})
			opts := heeding(legacy())
			if name != "HTTP" {
				old := newOldServer(t) // which requires the key, too
				go old.answerCall()
				handler = old
				opts.Protocol.Revision = mcp.Revision20241105 // its server's revision
			}
			var seen diary
			wraps, s := 0, serve(t, handler)
			client := s.Client()
			before := client.Transport
			c := connected(t, &mcpclient.HTTP{URL: s.URL(), SSE: name == "SSE", Client: client, WrapTransport: func(next http.RoundTripper) http.RoundTripper {
				wraps++
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					seen.write("%s", r.Method)
					r = r.Clone(r.Context())
					r.Header.Set("X-Key", "k")
					return next.RoundTrip(r)
				})
			}}, opts)
			callText(t, t.Context(), c, "a", "a")
			time.Sleep(time.Second) // the standalone stream is refused meanwhile
			check.Equal(t, "SSE", c.Transport().(*mcpclient.HTTP).SSE, name != "HTTP")
			check.NoError(t, c.Close())
			check.Equal(t, "the caller's client was changed", client.Transport, before)
			methods := seen.read()
			slices.Sort(methods)
			check.Equal(t, "requests", strings.Join(methods, " "), want.seen)
			check.Equal(t, "wrapped times", wraps, want.wraps)
		})
	}
	for _, sse := range []bool{false, true} {
		transport := &mcpclient.HTTP{URL: "http://example.com", SSE: sse, WrapTransport: func(http.RoundTripper) http.RoundTripper { return nil }}
		_, err := transport.Dial(t.Context())
		check.That(t, err != nil && strings.HasSuffix(err.Error(), ".WrapTransport returned nil"), "got %v", err)
	}
}

// Headers describe the request after middleware has changed it.
func TestMiddlewareRenamesTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names diary
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			names.write("%s", r.Header.Get("Mcp-Name"))
			fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[],"contents":[],"messages":[]}}`, m.ID)
		})
		o := undeclared(modern())
		o.Middleware = []mcpclient.Middleware{changing(func(r *mcpclient.Request) {
			r.Params = json.RawMessage(strings.ReplaceAll(string(r.Params), "old:it", "new:it"))
		})}
		c := connectTo(t, s, o)
		check.NoError(t, check.Err(c.CallTool(t.Context(), "old:it", nil)))
		check.NoError(t, check.Err(c.ReadResource(t.Context(), "old:it")))
		check.NoError(t, check.Err(c.GetPrompt(t.Context(), "old:it", nil)))
		check.Same(t, "Mcp-Name", names.read(), []string{"new:it", "new:it", "new:it"})
	})
}

// The first next of a middleware does not use up the second: each may be sent again in a new session.
func TestMiddlewareCallsNextTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := new(sessionServer), legacy()
		o.Middleware = append(o.Middleware, handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
			if r.Method != "tools/list" {
				return next(ctx, r)
			}
			for range 2 {
				s.forget()
				if _, err := next(ctx, r); err != nil {
					return nil, err
				}
			}
			return next(ctx, r)
		}))
		c := connectTo(t, serve(t, s), o)
		check.NoError(t, listOnce(t.Context(), c))
		check.Equal(t, "session", c.SessionID(), "s-3")
	})
}
