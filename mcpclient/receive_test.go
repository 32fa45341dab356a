package mcpclient_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// observed collects notifications.
type observed struct {
	mu      sync.Mutex
	methods []string
	logs    []mcpclient.LogMessage
}

func (o *observed) add(n *mcpclient.Notification) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.methods = append(o.methods, n.Method)
	if m, ok := n.LogMessage(); ok {
		o.logs = append(o.logs, m)
	}
}

func (o *observed) check(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Equal(o.methods, want) {
		t.Errorf("got notifications %q, want %q", o.methods, want)
	}
}

func TestLogging(t *testing.T) {
	talk := func(seen *observed, setLevel bool) func(*testing.T, context.Context, *mcpclient.Client) {
		return func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			seen.methods, seen.logs = nil, nil
			callText(t, ctx, c, "talk", "done")
			seen.check(t, "notifications/message", "notifications/tools/list_changed")
			if len(seen.logs) != 1 || seen.logs[0].Level != mcpclient.LogError || seen.logs[0].Logger != "db" {
				t.Errorf("got logs %+v", seen.logs)
			}
			if err := c.SetLogLevel(ctx, "loud"); err == nil {
				t.Error("unknown level: got no error")
			}
			if setLevel {
				if err := c.SetLogLevel(ctx, mcpclient.LogDebug); err != nil {
					t.Error(err)
				}
				return
			}
			callText(t, ctx, c, "talk", "done", mcpclient.WithLogLevel(mcpclient.LogDebug))
		}
	}
	var seen observed
	legacy, modern := legacy(), modern()
	legacy.LogLevel, legacy.OnNotification = mcpclient.LogWarning, seen.add
	modern.LogLevel, modern.OnNotification = mcpclient.LogWarning, seen.add
	playAll(t, []conversation{
		{name: "logging_legacy", opts: legacy, play: talk(&seen, true)},
		{name: "logging_refused", opts: legacy, play: ping},
		{name: "logging_modern", opts: modern, play: talk(&seen, false)},
	})
}

func TestPingBothWays(t *testing.T) {
	playAll(t, []conversation{{name: "ping_legacy", opts: legacy(), play: ping}})
}

func TestIDs(t *testing.T) {
	playAll(t, []conversation{{name: "ids", way: "pipe", opts: legacy(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		callText(t, ctx, c, "a", "quoted")
		callText(t, ctx, c, "b", "")
		ping(t, ctx, c)
	}}})
}

func TestBatch(t *testing.T) {
	var seen observed
	opts := mcpclient.Options{Revision: mcpclient.Revision20250326, OnNotification: seen.add}
	playAll(t, []conversation{{name: "batch", way: "pipe", opts: opts, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		var wg sync.WaitGroup
		for _, tool := range []string{"a", "b"} {
			wg.Go(func() { callText(t, ctx, c, tool, "for "+tool) })
			synctest.Wait()
		}
		wg.Wait()
		seen.check(t, "notifications/tools/list_changed")
	}}})
}

func TestGarbage(t *testing.T) {
	playAll(t, []conversation{{name: "garbage", way: "pipe", opts: legacy(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		for _, tool := range []string{"a", "b"} {
			if _, err := c.CallTool(ctx, tool, nil); !errors.Is(err, mcpclient.ErrInvalidResult) {
				t.Errorf("%s: got %v", tool, err)
			}
		}
		var wg sync.WaitGroup
		wg.Go(func() { callText(t, ctx, c, "c", "fine") })
		synctest.Wait()
		wg.Go(func() {
			if _, err := c.CallTool(ctx, "d", nil); !errors.Is(err, mcpclient.ErrInvalidResult) {
				t.Errorf("d: got %v", err)
			}
		})
		wg.Wait()
	}}})
}
