package adapter

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A client of the host that could not list its tools at first is used and watched after a Refresh.
func TestRefreshOfAClientThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		l := newListener(t, "a")
		l.listless = true
		client, err := mcpclient.Connect(t.Context(), l.way, nil)
		check(t, err)
		defer client.Close()
		ts := open(t, &Options{Policy: Policy{Start: StartAvailable}, OnChange: e.hear}, Server{Name: "p", Client: client})
		if ts.Servers()[0].Err == nil {
			t.Fatal("got a server that lists nothing")
		}
		if err := ts.Refresh(t.Context()); err == nil {
			t.Error("got no error, want what keeps the server from listing")
		}
		l.offer("a")
		check(t, ts.Refresh(t.Context()))
		if s := ts.Servers()[0]; s.Err != nil || len(s.Tools) != 1 {
			t.Errorf("got %d tools and %v, want the server with its tool", len(s.Tools), s.Err)
		}
		wantEvents(t, &e, Event{Server: "p", Kind: ServerAdded, Added: []string{"a"}})
		l.offer("a", "b")
		l.tell(t, "tools")
		wantEvents(t, &e, Event{Server: "p", Kind: ToolsChanged, Added: []string{"b"}})
		wantTools(t, ts, "a", "b")
	})
}

// A callback that does not return does not hide the end of a connection.
func TestRefreshDespiteACallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newListener(t, "a"), newListener(t, "b")
		ways := []mcpclient.Transport{first.way, second.way}
		release := make(chan bool)
		defer close(release)
		ts := open(t, nil, Server{
			Name: "p",
			Transport: transportFunc(func(ctx context.Context) (mcpclient.Conn, error) {
				way := ways[0]
				ways = ways[1:]
				return way.Dial(ctx)
			}),
			Options: &mcpclient.Options{OnNotification: func(*mcp.Notification) { <-release }},
		})
		check(t, first.send(t, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`))
		synctest.Wait()
		_ = first.conn.Close()
		synctest.Wait()
		if err := ts.Refresh(t.Context()); err != nil {
			t.Error(err)
		}
		wantTools(t, ts, "b")
	})
}

// Two refreshes of a lost server connect to it once.
func TestRefreshTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second, third := newListener(t, "a"), newListener(t, "b"), newListener(t, "c")
		ways := []mcpclient.Transport{first.way, second.way, third.way}
		dials, gate := 0, make(chan struct{}, 2)
		gate <- struct{}{}
		ts := open(t, nil, Server{Name: "p", Transport: transportFunc(func(ctx context.Context) (mcpclient.Conn, error) {
			<-gate
			dials++
			return ways[dials-1].Dial(ctx)
		})})
		_ = first.conn.Close()
		<-ts.Servers()[0].Client.Done()
		errs := make(chan error)
		for range 2 {
			go func() { errs <- ts.Refresh(t.Context()) }()
		}
		synctest.Wait() // one of them dials, the other one waits for it
		close(gate)
		for range 2 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff(toolNamesOf(ts), []string{"b"}); dials != 2 || diff != "" {
			t.Errorf("got %d connections, want 2, and (-) want (+) tools:\n%s", dials, diff)
		}
	})
}

// redial is a transport that connects to the servers in turn, and then fails.
func redial(dials *atomic.Int32, servers ...*listener) mcpclient.Transport {
	return transportFunc(func(ctx context.Context) (mcpclient.Conn, error) {
		n := int(dials.Add(1))
		if n > len(servers) {
			return nil, errNoDial
		}
		return servers[n-1].way.Dial(ctx)
	})
}

// A client that restarts its server is left alone until it gives up. The toolset then lists the
// server's tools.
func TestRestartedServerIsListedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		var dials atomic.Int32
		first, second := newListener(t, "a"), newListener(t, "b")
		opts := &mcpclient.Options{Restart: &mcpclient.Restart{Attempts: 2, First: time.Second}}
		ts := open(t, &Options{Client: opts, OnChange: e.hear, retryWait: -1}, Server{Name: "p", Transport: redial(&dials, first, second)})
		client := ts.Servers()[0].Client
		_ = first.conn.Close()
		synctest.Wait()
		if err := ts.Refresh(t.Context()); err != nil { // waits for the restart
			t.Fatal(err)
		}
		synctest.Wait()
		if diff := cmp.Diff(toolNamesOf(ts), []string{"b"}); diff != "" || ts.Servers()[0].Client != client || dials.Load() != 2 {
			t.Errorf("got %d connections, want 2 of the same client, and (-) want (+) tools:\n%s", dials.Load(), diff)
		}

		_ = second.conn.Close()
		time.Sleep(time.Minute) // the client gives up
		tried := dials.Load()
		if err := ts.Refresh(t.Context()); !errors.Is(err, errNoDial) || dials.Load() != tried+1 {
			t.Errorf("got %v and %d connections more, want another try", err, dials.Load()-tried)
		}
	})
}

// A legacy server may announce changes of its tools without declaring them, even if it has a
// subscription to its prompts.
func TestAnnouncementsThatAreNotDeclared(t *testing.T) {
	for _, capabilities := range []string{`{"tools":{}}`, `{"tools":{},"prompts":{"listChanged":true}}`} {
		synctest.Test(t, func(t *testing.T) {
			tools := "[]"
			transport, conn := scriptedBy(t, func(method string) string {
				if method == "tools/list" {
					return `{"tools":` + tools + `}`
				}
				return `{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"serverInfo":{"name":"s","version":"1"}}`
			})
			ts := open(t, &Options{Client: &legacy}, Server{Name: "p", Transport: transport})
			synctest.Wait()
			tools = `[{"name":"a","inputSchema":{"type":"object"}}]`
			check(t, conn.Send(t.Context(), []byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)))
			synctest.Wait()
			wantTools(t, ts, "a")
		})
	}
}
