package adapter

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// slow is a transport that takes a while to connect.
func slow(name string, d time.Duration, l *listener) *reached {
	way := serving(name, l)
	dial := way.next
	way.next = func(ctx context.Context, n int) (mcpclient.Conn, error) {
		select {
		case <-time.After(d):
			return dial(ctx, n)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return way
}

// TestQuickServersAreNotKeptWaiting opens a toolset as soon as the quick servers are ready. A slow
// server joins later, one that fails late is tried again, and Open waits for a server that is ready
// within OpenWait.
func TestQuickServersAreNotKeptWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		began := time.Now()
		broken := serving("broken")
		broken.next = func(context.Context, int) (mcpclient.Conn, error) {
			time.Sleep(3 * time.Second)
			return nil, errNoDial
		}
		ts := open(t, &Options{Policy: Policy{Start: StartAvailable}, OpenWait: time.Second, OnChange: e.hear},
			Server{Name: "quick", Transport: slow("quick", 200*time.Millisecond, newListener(t, "a"))},
			Server{Name: "slow", Transport: slow("slow", 8*time.Second, newListener(t, "b"))},
			Server{Name: "next", Transport: slow("next", 900*time.Millisecond, newListener(t, "c"))},
			Server{Name: "broken", Transport: broken})
		if took := time.Since(began); took != 1200*time.Millisecond {
			t.Errorf("Open took %v, want 1.2 s", took)
		}
		wantTools(t, ts, "a", "c")
		if s := ts.Servers()[1]; !errors.Is(s.Err, ErrConnecting) {
			t.Errorf("got %+v, want that it is being connected to", s)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		wantTools(t, ts, "a", "b", "c")
		if got := e.take(); len(got) != 1 || got[0].Kind != ServerAdded || got[0].Server != "slow" {
			t.Errorf("got the events %+v", got)
		}
		if s := ts.Servers()[3]; !errors.Is(s.Err, errNoDial) || broken.dials.Load() < 2 {
			t.Errorf("got %+v after %d connections, want that it is tried again", s, broken.dials.Load())
		}
		if r := ts.Catalog(profile.Plain).Call(t.Context(), call("1", "b", "")); r.IsError {
			t.Errorf("got %+v", r)
		}
	})
}

// TestSlowServerAtTheEnd closes the toolset, or cancels Open, while a server is still connecting.
// Nothing is left behind.
func TestSlowServerAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := func() []Server {
			return []Server{
				{Name: "quick", Transport: serving("quick", newListener(t, "a"))},
				{Name: "slow", Transport: slow("slow", time.Hour, newListener(t, "b"))},
			}
		}
		opts := &Options{Policy: Policy{Start: StartAvailable, ConnectTimeout: 2 * time.Hour}, OpenWait: time.Second}
		ts := open(t, opts, servers()...)
		_ = ts.Close()

		opts.OpenWait = time.Minute
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		check.Is(t, check.Err(Open(ctx, servers(), opts)), context.DeadlineExceeded, "the end of the context")
	})
}
