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
