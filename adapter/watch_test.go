package adapter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A modern server announces changes to subscribers. There is one subscription for everything, made
// before the tools are listed.
func TestListening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		l := newListener(t, "a")
		ts := open(t, &Options{OnChange: e.hear}, Server{Name: "p", Transport: l.way})
		check.Same(t, "requests", l.heard, []string{"server/discover", "subscriptions/listen", "tools/list"})
		check.Equal(t, "the filter, which is what the server declares", l.filter, `{"toolsListChanged":true,"promptsListChanged":true}`)
		l.offer("a", "b")
		l.tell(t, "tools")
		wantEvents(t, &e, Event{Server: "p", Kind: ToolsChanged, Added: []string{"b"}})
		wantTools(t, ts, "a", "b")
		time.Sleep(time.Second)
		l.tell(t, "prompts")
		wantEvents(t, &e, Event{Server: "p", Kind: PromptsChanged})

		time.Sleep(time.Second)
		l.offer("c")
		check.Must(t, l.agree(t)) // once more: something may have been missed
		got := e.take()
		slices.SortFunc(got, func(a, b Event) int { return strings.Compare(string(a.Kind), string(b.Kind)) })
		check.Same(t, "events after a gap", got,
			[]Event{{Server: "p", Kind: PromptsChanged}, {Server: "p", Kind: ToolsChanged, Added: []string{"c"}, Removed: []string{"a", "b"}}})

		check.Must(t, ts.Remove("p"))
		wantEvents(t, &e, Event{Server: "p", Kind: ServerRemoved, Removed: []string{"c"}})
	})
}

// A client of the host is watched like any other connection, and left open.
func TestListeningOnAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListener(t, "a")
		client, err := mcpclient.Connect(t.Context(), l.way, nil)
		check.Must(t, err)
		ts := open(t, nil, Server{Name: "p", Client: client})
		l.offer("b")
		l.tell(t, "tools")
		synctest.Wait()
		wantTools(t, ts, "b")
		check.Must(t, ts.Close())
		check.Equal(t, "the subscription cancelled", l.count("notifications/cancelled"+string(l.subscription())), 1)
		check.NoError(t, client.Close())
	})
}

// A subscription that the server ends is made again, and missed changes are reported.
func TestListeningAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		l := newListener(t, "a")
		ts := open(t, &Options{OnChange: e.hear}, Server{Name: "p", Transport: l.way})
		for i := range 3 {
			check.Must(t, l.send(t, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete"}}`, l.subscription()))
			name := fmt.Sprint("t", i)
			l.offer(name)
			time.Sleep(time.Second << i)
			check.Equal(t, "subscriptions after waits of 1 s, 2 s and 4 s", l.count("subscriptions/listen"), i+2)
			wantTools(t, ts, name)
		}
		for _, event := range e.take() {
			check.That(t, event.Kind != WatchEnded, "got %v, want nothing said of what was mended", event)
		}
	})
}

// A server that refuses subscriptions is reported, and asked again by Refresh.
func TestListeningRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		l := newListener(t, "a")
		l.refuse = true
		ts := open(t, &Options{OnChange: e.hear}, Server{Name: "p", Transport: l.way})
		got := e.take()
		check.Require(t, len(got) == 1 && got[0].Kind == WatchEnded && got[0].Server == "p", "got %v, want the end of listening", got)
		rpc, ok := errors.AsType[*mcp.RPCError](got[0].Err)
		check.That(t, ok && rpc.Code == mcp.CodeMethodNotFound, "got %v, want the server's answer", got[0].Err)
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

// The end of the connection ends the subscription, which is reported.
func TestListeningEndsWithTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		l := newListener(t, "a")
		ts := open(t, &Options{OnChange: e.hear, retryWait: -1}, Server{Name: "p", Transport: l.way})
		_ = l.conn.Close()
		got := e.take()
		check.That(t, len(got) == 1 && got[0].Kind == WatchEnded && got[0].Err != nil, "got %v, want the end of listening", got)
		_ = ts.Close()
		wantEvents(t, &e)
	})
}

// The removal of a server is its last event. Neither the end of its connection nor pending changes are reported.
func TestRemovalIsTheLastEvent(t *testing.T) {
	for range 20 { // the goroutine of the server finds both ends, in any order
		synctest.Test(t, func(t *testing.T) {
			var e events
			var ts *Toolset
			l := newListener(t, "a")
			l.resources = true
			changes := 0
			ts = open(t, &Options{OnChange: func(got Event) {
				e.hear(got)
				if got.Kind != PromptsChanged {
					return
				}
				if changes++; changes == 2 {
					check.NoError(t, ts.Remove("p"))
				}
			}}, Server{Name: "p", Transport: l.way})
			l.tell(t, "prompts") // an interval begins
			wantEvents(t, &e, Event{Server: "p", Kind: PromptsChanged})
			l.tell(t, "prompts")
			l.tell(t, "resources")
			time.Sleep(2 * time.Second)
			wantEvents(t, &e, Event{Server: "p", Kind: PromptsChanged}, Event{Server: "p", Kind: ServerRemoved, Removed: []string{"a"}})
			_ = ts.Close()
			wantEvents(t, &e)
		})
	}
}

// A server that announces changes all the time is neither listed nor reported all the time.
func TestListeningIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		l := newListener(t, "a")
		open(t, &Options{OnChange: e.hear}, Server{Name: "p", Transport: l.way})
		for range 1000 {
			l.tell(t, "prompts")
			l.tell(t, "tools")
			time.Sleep(10 * time.Millisecond)
		}
		for what, n := range map[string]int{"events": len(e.take()), "lists after that of the opening": l.count("tools/list") - 1} {
			check.That(t, n >= 5 && n <= 11, "got %d %s in 10 s, want at most one a second", n, what)
		}
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
		wantEvents(t, &e, Event{Server: "p", Kind: PromptsChanged}, Event{Server: "p", Kind: ToolsChanged, Added: []string{"b"}, Removed: []string{"a"}})
		wantTools(t, ts, "b")

		s.l.refuse = true
		s.shutdown <- struct{}{}
		time.Sleep(maxResubscribe)
		got := e.take()
		check.That(t, len(got) == 1 && got[0].Kind == WatchEnded, "got %v, want the end of listening after a refusal", got)
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
