package adapter

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestQuickServersAreNotKeptWaiting opens a toolset as soon as the quick servers are ready. A slow server joins later,
// one that fails late is tried again, and Open waits for a server that is ready within OpenWait.
func TestQuickServersAreNotKeptWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		began := time.Now()
		broken := serving("broken").slowly(3 * time.Second)
		ts := open(t, &Options{Policy: Policy{Start: StartAvailable}, OpenWait: time.Second, OnChange: e.hear},
			Server{Name: "quick", Transport: serving("quick", newListener(t, "a")).slowly(200 * time.Millisecond)},
			Server{Name: "slow", Transport: serving("slow", newListener(t, "b")).slowly(8 * time.Second)},
			Server{Name: "next", Transport: serving("next", newListener(t, "c")).slowly(900 * time.Millisecond)},
			Server{Name: "broken", Transport: broken})
		check.Equal(t, "until it is open", time.Since(began), 1200*time.Millisecond)
		wantTools(t, ts, "a", "c")
		check.Is(t, ts.Servers()[1].Err, ErrConnecting)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		wantTools(t, ts, "a", "b", "c")
		wantEvents(t, &e, Event{Server: "slow", Kind: ServerAdded, Added: []string{"b"}})
		check.Is(t, ts.Servers()[3].Err, errNoDial)
		check.That(t, broken.dials.Load() >= 2, "got %d connections, want that it is tried again", broken.dials.Load())
		check.Equal(t, "", callTool(t, ts, "b", "").Text, "done")
	})
}

// TestSlowServerAtTheEnd closes the toolset, or cancels Open, while a server is still connecting. Nothing is left behind.
func TestSlowServerAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := func() []Server {
			return []Server{
				{Name: "quick", Transport: serving("quick", newListener(t, "a"))},
				{Name: "slow", Transport: serving("slow", newListener(t, "b")).slowly(time.Hour)},
			}
		}
		opts := &Options{Policy: Policy{Start: StartAvailable, ConnectTimeout: 2 * time.Hour}, OpenWait: time.Second}
		_ = open(t, opts, servers()...).Close()
		opts.OpenWait = time.Minute
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		check.Is(t, check.Err(Open(ctx, servers(), opts)), context.DeadlineExceeded, "the end of the context")
	})
}
