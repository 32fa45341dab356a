package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// What hears of a task does not outlive the call.
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
		_, err = c.CallTool(t.Context(), "slow", nil, WithTask(&Tool{Name: "slow"}), WithTimeout(time.Minute), WithProgress(func(Progress) {
			t.Error("got progress that nobody sent")
		}))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
		l := c.link.Load()
		l.mu.Lock()
		defer l.mu.Unlock()
		if n := len(l.followers); n != 0 {
			t.Errorf("got %d followers after the call, want none", n)
		}
	})
}
