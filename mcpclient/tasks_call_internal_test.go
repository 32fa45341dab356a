package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Followers do not outlive their calls.
func TestFollowersLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport, conn := Pipe()
		go func() {
			for {
				data, err := conn.Recv()
				if err != nil {
					return
				}
				var m struct {
					ID     json.RawMessage
					Method string
				}
				if err := json.Unmarshal(data, &m); err != nil {
					t.Error(err)
				}
				if m.Method == "tasks/cancel" {
					continue // nothing waits for it
				}
				result := `{"resultType":"task","taskId":"k","status":"working"}`
				if m.Method == "server/discover" {
					result = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
				}
				if conn.Send(t.Context(), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)) != nil {
					return
				}
			}
		}()
		c, err := Connect(t.Context(), transport, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		_, err = c.CallTool(t.Context(), "slow", nil, WithTask(&mcp.Tool{Name: "slow"}), WithTimeout(time.Minute), WithProgress(func(mcp.Progress) {
			t.Error("got progress that nobody sent")
		}))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
		synctest.Wait()
		l := c.link.Load()
		l.mu.Lock()
		defer l.mu.Unlock()
		if n, waiting := len(l.followers.byID), len(l.calls.Pending()); n != 0 || waiting != 0 {
			t.Errorf("got %d followers and %d requests that wait after the call, want none", n, waiting)
		}
	})
}

// A call that is sent again is followed by its last token only.
func TestFollowersMove(t *testing.T) {
	l, f := new(link), new(follower)
	l.followers.follow(f, 1)
	l.followers.follow(f, 2)
	if l.followers.of(1) != nil || l.followers.of(2) != f {
		t.Errorf("got the followers %v, want one of 2", l.followers.byID)
	}
	next := new(link)
	next.followers.follow(f, 1)
	if f.leave(); len(l.followers.byID) != 0 || len(next.followers.byID) != 0 {
		t.Errorf("got the followers %v and %v, want none", l.followers.byID, next.followers.byID)
	}
}
