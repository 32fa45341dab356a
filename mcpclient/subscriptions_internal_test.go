package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A server that has forgotten everything is asked again to watch the resources, once for all
// subscriptions, which report that changes may be missing. A resource that no longer exists
// does not affect the others.
func TestRewatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport, conn := Pipe()
		var methods []string
		gone := "nothing"
		go func() {
			for {
				raw, err := conn.Recv()
				if err != nil {
					return
				}
				var m struct {
					ID     json.RawMessage
					Method string
					Params struct{ URI string }
				}
				_ = json.Unmarshal(raw, &m)
				methods = append(methods, m.Method+" "+m.Params.URI)
				result := `{}`
				if m.Method == "initialize" {
					result = `{"protocolVersion":"2025-11-25","capabilities":{"resources":{"subscribe":true}}}`
				}
				if m.Params.URI == gone {
					_ = conn.Send(context.Background(), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32002,"message":"gone"}}`, m.ID))
				} else if m.ID != nil {
					_ = conn.Send(context.Background(), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
				}
			}
		}()
		c, err := Connect(t.Context(), transport, &Options{Protocol: Protocol{Revision: mcp.Revision20251125}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		defer func() { _ = c.Close() }()
		var all []*Subscription
		for _, uris := range [][]string{{"file:///a"}, {"file:///b", "file:///a"}} {
			s, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{Resources: uris})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
		synctest.Wait()
		methods, gone = nil, "file:///a"
		if err := c.subscriptions.watchAgain(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want := []string{"resources/subscribe file:///a", "resources/subscribe file:///b"}
		if !slices.Equal(methods, want) {
			t.Errorf("got %q, want %q", methods, want)
		}
		for i, s := range all {
			for change, err := range s.Changes(t.Context()) {
				if err != nil || change.Kind != mcp.Stale {
					t.Errorf("subscription %d: got %v, %v, want Stale", i, change, err)
				}
				break
			}
		}
	})
}
