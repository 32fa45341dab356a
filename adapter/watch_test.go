package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// A modern server announces changes to subscribers. There is one subscription for everything, made
// before the tools are listed. No person is asked to sign in for the lists that follow.
func TestListening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		var unattended []bool // by list
		look := func(next mcpclient.Handler) mcpclient.Handler {
			return func(ctx context.Context, r *mcpclient.Request) (json.RawMessage, error) {
				if r.Method == "tools/list" {
					unattended = append(unattended, backoff.IsUnattended(ctx))
				}
				return next(ctx, r)
			}
		}
		l := newListener(t, "a")
		ts := open(t, &Options{OnChange: e.hear, ClientOptions: &mcpclient.Options{Middleware: []mcpclient.Middleware{look}}},
			Server{Name: "p", Transport: l.way})
		check.Same(t, "requests", l.heard, []string{"server/discover", "subscriptions/listen", "tools/list"})
		check.Equal(t, "the filter, which is what the server declares", l.filter, `{"toolsListChanged":true,"promptsListChanged":true}`)
		l.offer("a", "b")
		l.tell(t, "tools")
		wantEvents(t, &e, Event{Server: "p", Kind: ToolsChanged, Added: []string{"b"}})
		check.Same(t, "lists without a person", unattended, []bool{false, true})
		wantTools(t, ts, "a", "b")
		time.Sleep(time.Second)
		l.offer("c")
		l.tell(t, "prompts")
		wantEvents(t, &e)
		check.Must(t, l.agree(t)) // once more: something may have been missed
		wantEvents(t, &e, Event{Server: "p", Kind: ToolsChanged, Added: []string{"c"}, Removed: []string{"a", "b"}})
	})
}

// A subscription that the server ends is made again, and missed changes are reported.
func TestListeningAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListener(t, "a")
		ts := open(t, nil, Server{Name: "p", Transport: l.way})
		for i := range 3 {
			check.Must(t, l.send(t, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete"}}`, l.subscription()))
			name := fmt.Sprint("t", i)
			l.offer(name)
			time.Sleep(time.Second << i)
			check.Equal(t, "subscriptions after waits of 1 s, 2 s and 4 s", l.count("subscriptions/listen"), i+2)
			wantTools(t, ts, name)
		}
	})
}

// A server that refuses subscriptions is asked again by Refresh.
func TestListeningRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		l := newListener(t, "a")
		l.refuse = true
		var log bytes.Buffer
		ts := open(t, &Options{OnChange: e.hear, Logger: slog.New(slog.NewTextHandler(&log, nil))}, Server{Name: "p", Transport: l.way})
		synctest.Wait()
		check.Contains(t, "the log", log.String(), "not here")
		l.mu.Lock()
		l.refuse = false
		l.mu.Unlock()
		check.Must(t, ts.Refresh(t.Context()))
		check.Equal(t, "lists", l.count("tools/list"), 2)
		l.offer("b")
		l.tell(t, "tools")
		wantEvents(t, &e, Event{Server: "p", Kind: ToolsChanged, Added: []string{"b"}, Removed: []string{"a"}})
	})
}

// A server that acknowledges late delays the opening by a second. Changes in the meantime are reported.
func TestListeningAgreedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		l := newListener(t, "a")
		l.mute = true
		start := time.Now()
		ts := open(t, &Options{OnChange: e.hear}, Server{Name: "p", Transport: l.way})
		check.Equal(t, "until it is open", time.Since(start), acknowledgeWait)
		l.offer("b")
		check.Must(t, l.agree(t))
		synctest.Wait()
		wantTools(t, ts, "b")
	})
}

// Neither the end of the connection nor pending changes of a server that was removed are reported.
func TestNoEventsOfARemovedServer(t *testing.T) {
	for range 20 { // the goroutine of the server finds both ends, in any order
		synctest.Test(t, func(t *testing.T) {
			var e events
			l := newListener(t, "a")
			ts := open(t, &Options{OnChange: e.hear}, Server{Name: "p", Transport: l.way})
			l.tell(t, "tools") // an interval begins
			wantEvents(t, &e)
			l.offer("b")
			l.tell(t, "tools")
			check.NoError(t, ts.Remove("p"))
			time.Sleep(2 * time.Second)
			_ = ts.Close()
			wantEvents(t, &e)
		})
	}
}

// A server that announces changes all the time is not listed all the time.
func TestListeningIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListener(t, "a")
		open(t, nil, Server{Name: "p", Transport: l.way})
		for range 1000 {
			l.tell(t, "tools")
			time.Sleep(10 * time.Millisecond)
		}
		n := l.count("tools/list") - 1
		check.That(t, n >= 5 && n <= 11, "got %d lists in 10 s, want at most one a second", n)
	})
}

// Announcements of the official SDK's server over HTTP arrive, even after the network failed.
func TestListeningOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		p := newPeer().tool("a", object, echo)
		web := memhttp.New(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return p.Server }, &sdk.StreamableHTTPOptions{Stateless: true}))
		defer web.Close()
		ts := open(t, &Options{OnChange: e.hear}, Server{Name: "p", Transport: &mcpclient.HTTP{URL: web.URL(), Client: web.Client()}})
		check.Equal(t, "revision", ts.Servers()[0].Client.Server().Revision, mcp.Revision20260728)
		p.tool("b", object, echo)
		time.Sleep(time.Second) // the SDK gathers changes before it tells
		wantEvents(t, &e, Event{Server: "p", Kind: ToolsChanged, Added: []string{"b"}})
		web.Drop()
		synctest.Wait()
		p.RemoveTools("a") // told to no observer
		time.Sleep(time.Minute)
		wantEvents(t, &e, Event{Server: "p", Kind: ToolsChanged, Removed: []string{"a"}})
		p.tool("c", object, echo)
		time.Sleep(time.Second)
		wantEvents(t, &e, Event{Server: "p", Kind: ToolsChanged, Added: []string{"c"}})
		wantTools(t, ts, "b", "c")
	})
}

// A server over HTTP ends its subscriptions in order and is then away for some time, as when it is
// updated. It is watched again once it is back, and nobody is asked or told.
func TestListeningToAServerThatWasAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		s := &politeServer{t: t, l: &listener{tools: []string{"a"}}, shutdown: make(chan struct{})}
		web := memhttp.New(s)
		defer web.Close()
		ts := open(t, &Options{OnChange: e.hear}, Server{Name: "p", Transport: &mcpclient.HTTP{URL: web.URL(), Client: web.Client()}})
		s.shutdown <- struct{}{}
		synctest.Wait()
		web.Drop()
		web.Refuse(true)
		time.Sleep(10 * time.Second)
		wantEvents(t, &e)
		s.l.offer("b")
		web.Refuse(false)
		time.Sleep(maxResubscribe)
		wantEvents(t, &e, Event{Server: "p", Kind: ToolsChanged, Added: []string{"b"}, Removed: []string{"a"}})
		wantTools(t, ts, "b")
	})
}

// politeServer serves a listener over HTTP. For each token in shutdown it completes a subscription.
type politeServer struct {
	t        *testing.T
	l        *listener
	shutdown chan struct{}
}

func (s *politeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m testenv.Message
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if m.Method != "subscriptions/listen" || s.l.refuse {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, s.l.answer(s.t, &m))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"}`+"\n\n")
	_ = http.NewResponseController(w).Flush()
	select {
	case <-s.shutdown:
		_, _ = fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete"}}`+"\n\n", m.ID)
	case <-r.Context().Done():
	}
}

// TestServersComeBack checks that the toolset connects again, after growing waits, to servers that
// are not there at first or end.
func TestServersComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		var log bytes.Buffer
		a, b := newListener(t, "a"), newListener(t, "b")
		way := serving("x", a, b)
		ts := open(t, &Options{Policy: Policy{Start: StartAvailable}, OnChange: e.hear, Logger: slog.New(slog.NewTextHandler(&log, nil))},
			Server{Name: "p", Transport: way})
		_ = a.conn.Close()
		synctest.Wait()
		check.Contains(t, "a server that is lost", callTool(t, ts, "a", "").Text, "Nothing was done")
		time.Sleep(time.Second)
		synctest.Wait()
		wantTools(t, ts, "b")
		check.NoError(t, ts.Servers()[0].Ended)
		_ = b.conn.Close()
		time.Sleep(10 * time.Minute) // 1, 2, 4, … 60 s, less up to a half
		n := way.dials.Load()
		check.That(t, n >= 14 && n <= 32, "got %d connections in 10 minutes, want waits of up to a minute", n)
		var kinds []EventKind
		for _, event := range e.take() {
			kinds = append(kinds, event.Kind)
		}
		check.Same(t, "events", kinds, []EventKind{ServerLost, ServerAdded, ServerLost})
		text := log.String()
		check.That(t, strings.Count(text, "a server is lost") == 2 && strings.Count(text, "a server is connected") == 1, "got the log:\n%s", text)
	})
}

// TestServerThatComesLate has a server that joins when it can be reached and lists its tools: one connection is useless.
func TestServerThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		dials, deaf, late := 0, newListener(t), newListener(t, "a")
		deaf.listless = true
		way := transportFunc(func(ctx context.Context) (transport.Conn, error) {
			check.Equal(t, fmt.Sprint("a person may be asked to sign in after dials: ", dials), !backoff.IsUnattended(ctx), dials == 0)
			switch dials++; dials {
			case 1, 2:
				return nil, errNoDial
			case 3:
				return deaf.way.Dial(ctx)
			}
			return late.way.Dial(ctx)
		})
		ts := open(t, &Options{Policy: Policy{Start: StartAvailable}, OnChange: e.hear}, Server{Name: "p", Transport: way})
		time.Sleep(time.Minute)
		synctest.Wait()
		wantEvents(t, &e, Event{Server: "p", Kind: ServerAdded, Added: []string{"a"}})
		wantTools(t, ts, "a")
	})
}

// TestPipesAreNotDialedAgain checks that a connection that cannot be made again, and a removed server, are left alone.
func TestPipesAreNotDialedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListener(t, "a")
		ts := open(t, nil, Server{Name: "p", Transport: l.way})
		_ = l.conn.Close()
		time.Sleep(time.Hour)
		check.Text(t, ts.Servers()[0].Ended, "", "a connection")
		check.NoError(t, ts.Remove("p"))
	})
}

// events records the events of a toolset.
type events struct {
	mu  sync.Mutex
	all []Event
}

func (e *events) hear(event Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

// take returns the events since its last call. It must be called in a bubble, and waits until that is idle.
func (e *events) take() []Event {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.all
	e.all = nil
	return out
}

func wantEvents(t *testing.T, e *events, want ...Event) {
	t.Helper()
	check.Same(t, "events", e.take(), want)
}

// listener is a modern server whose announcements a test controls. It declares changes of its tools and prompts.
type listener struct {
	conn transport.Conn
	way  mcpclient.Transport

	refuse, mute bool // subscriptions/listen: answers with an error, not at all
	listless     bool // tools/list: answers with an error

	mu     sync.Mutex
	heard  []string          // methods, and the requests that were cancelled
	listen []json.RawMessage // the ids of subscriptions
	filter string            // of the last one
	tools  []string
}

func newListener(t *testing.T, tools ...string) *listener {
	l := &listener{tools: tools}
	l.way, l.conn = answeredBy(t, func(m *testenv.Message) string { return l.answer(t, m) })
	return l
}

func (l *listener) answer(t *testing.T, m *testenv.Message) string {
	var params struct{ Notifications, RequestID json.RawMessage }
	if m.Params != nil {
		check.Must(t, json.Unmarshal(m.Params, &params))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = append(l.heard, m.Method+string(params.RequestID))
	switch m.Method {
	case "server/discover":
		return `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true}}}`
	case "tools/list":
		if l.listless {
			return `"error":{"code":-32603,"message":"not yet"}`
		}
		list := []string{}
		for _, name := range l.tools {
			list = append(list, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
		}
		return `"result":{"resultType":"complete","ttlMs":3600000,"tools":[` + strings.Join(list, ",") + `]}`
	case "tools/call":
		return `"result":{"resultType":"complete","content":[{"type":"text","text":"done"}]}`
	case "subscriptions/listen":
		l.listen, l.filter = append(l.listen, m.ID), string(params.Notifications)
		if l.refuse {
			return `"error":{"code":-32601,"message":"not here"}`
		}
		if !l.mute {
			_ = l.agreeLocked(t)
		}
	}
	return ""
}

func (l *listener) send(t *testing.T, format string, args ...any) error {
	return l.conn.Send(t.Context(), fmt.Appendf(nil, format, args...))
}

// subscription returns the id of the last subscription.
func (l *listener) subscription() json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.listen[len(l.listen)-1]
}

func (l *listener) agree(t *testing.T) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.agreeLocked(t)
}

func (l *listener) agreeLocked(t *testing.T) error {
	return l.send(t, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true,"promptsListChanged":true}}}`, l.listen[len(l.listen)-1])
}

// tell announces a change of a list.
func (l *listener) tell(t *testing.T, list string) {
	t.Helper()
	check.NoError(t, l.send(t, `{"jsonrpc":"2.0","method":"notifications/%s/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`,
		list, l.subscription()))
}

// offer changes the tools without an announcement.
func (l *listener) offer(tools ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tools, l.listless = tools, false
}

// count returns the number of requests of a method.
func (l *listener) count(method string) int {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, m := range l.heard {
		if m == method {
			n++
		}
	}
	return n
}
