package adapter

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// A connection of the caller's that could not list its tools at first is a server
// like any other after a Refresh, and is listened to.
func TestRefreshOfAClientThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		l := newListener(t, "a")
		l.listless = true
		client, err := mcpclient.Connect(t.Context(), l.way, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		ts := open(t, &Options{Start: StartAvailable, OnChange: e.hear}, Server{Name: "p", Client: client})
		if ts.Servers()[0].Err == nil {
			t.Fatal("got a server that lists nothing")
		}
		if err := ts.Refresh(t.Context()); err == nil {
			t.Error("got no error, want what keeps the server from listing")
		}
		l.offer("a")
		if err := ts.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := ts.Servers()[0]; s.Err != nil || len(s.Tools) != 1 {
			t.Errorf("got %d tools and %v, want the server with its tool", len(s.Tools), s.Err)
		}
		wantEvents(t, &e, Event{Server: "p", Kind: ServerAdded, Added: []string{"a"}})
		l.offer("a", "b")
		l.tell(t, "tools")
		wantEvents(t, &e, Event{Server: "p", Added: []string{"b"}})
		if diff := cmp.Diff(toolNamesOf(ts), []string{"a", "b"}); diff != "" {
			t.Errorf("got (-) want (+):\n%s", diff)
		}
		_ = ts.Close()
	})
}

// Two that find a server lost connect to it once.
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
		_ = ts.Close()
	})
}
