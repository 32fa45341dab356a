package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// A result that must not be cached removes the cached one.
func TestUncachedAnswerReplacesCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ttl, asked := []int{3600000, 0, 0}, 0
		s := httpServer(t, func(w http.ResponseWriter, _ *http.Request, m message) {
			fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","tools":[],"ttlMs":%d}}`, m.ID, ttl[asked])
			asked++
		})
		c := connectTo(t, s, modern())
		wantTools(t, t.Context(), c, "")
		wantTools(t, t.Context(), c, "", mcpclient.WithoutCache())
		wantTools(t, t.Context(), c, "")
		equal(t, "requests", asked, 3)
	})
}

// Each parameter header has its own argument, at any depth.
func TestParamHeadersOfDeepSiblings(t *testing.T) {
	const leaves = `"d":{"type":"string","x-mcp-header":"D"},"e":{"type":"string","x-mcp-header":"E"},"f":{"type":"string","x-mcp-header":"F"}`
	for depth := range 9 {
		schema, args := `{"properties":{`+leaves+`}}`, `{"d":"1","e":"2","f":"3"}`
		for range depth {
			schema, args = `{"properties":{"a":`+schema+`}}`, `{"a":`+args+`}`
		}
		var got string
		overModernHTTP(t, func(w http.ResponseWriter, r *http.Request, m message) {
			got = r.Header.Get("Mcp-Param-D") + r.Header.Get("Mcp-Param-E") + r.Header.Get("Mcp-Param-F")
			_, _ = jsonWriter(w).Write([]byte(answerTo(m)))
		}, func(t *testing.T, c *mcpclient.Client) {
			must(t, c.RegisterTools(tool("t", schema)))
			must(t, errOf(c.CallTool(t.Context(), "t", json.RawMessage(args))))
		})
		if got != "123" {
			t.Errorf("at depth %d: got %q, want 123", depth, got)
		}
	}
}

// Headers describe the request after middleware has changed it.
func TestMiddlewareRenamesTarget(t *testing.T) {
	var names []string
	server := func(w http.ResponseWriter, r *http.Request, m message) {
		names = append(names, r.Header.Get("Mcp-Name"))
		result := `{"resultType":"complete","content":[],"contents":[],"messages":[]}`
		fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}
	synctest.Test(t, func(t *testing.T) {
		s := httpServer(t, server)
		o := modern()
		o.Protocol.AllowUndeclared = true
		o.Middleware = append(o.Middleware, handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
			r.Params = json.RawMessage(strings.ReplaceAll(string(r.Params), "old:it", "new:it"))
			return next(ctx, r)
		}))
		c := connectTo(t, s, o)
		_, toolErr := c.CallTool(t.Context(), "old:it", nil)
		_, readErr := c.ReadResource(t.Context(), "old:it")
		_, promptErr := c.GetPrompt(t.Context(), "old:it", nil)
		noError(t, errors.Join(toolErr, readErr, promptErr))
	})
	equal(t, "Mcp-Name", strings.Join(names, " "), "new:it new:it new:it")
}

// The first next of a middleware does not use up the second: each may be sent again in a new
// session.
func TestMiddlewareCallsNextTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sessionServer{streams: make(chan struct{})}
		server := serve(t, s)
		o := legacy()
		o.Middleware = append(o.Middleware, handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
			if r.Method != "tools/list" {
				return next(ctx, r)
			}
			for range 2 {
				s.forget()
				if _, err := next(ctx, r); err != nil {
					return nil, err
				}
			}
			return next(ctx, r)
		}))
		c := connectTo(t, server, o)
		noError(t, listOnce(t.Context(), c))
		equal(t, "session", c.SessionID(), "s-3")
	})
}

// A request whose answer was over the limit is not sent again.
func TestLargeAnswerIsNotAskedForAgain(t *testing.T) {
	for _, media := range []string{"text/event-stream", "application/json"} {
		synctest.Test(t, func(t *testing.T) {
			var asked atomic.Int32
			s := httpServer(t, func(w http.ResponseWriter, _ *http.Request, m message) {
				asked.Add(1)
				answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[],"x":%q}}`, m.ID, strings.Repeat("x", 5000))
				if media == "text/event-stream" {
					stream(w)(answer)
				} else {
					_, _ = jsonWriter(w).Write([]byte(answer))
				}
			})
			o := modern()
			o.Limits.Retries = 3
			c := connected(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client(), MaxMessage: 4000}, o)
			wantIs(t, listOnce(t.Context(), c), transport.ErrMessageTooLarge, media)
			equal(t, media, asked.Load(), 1)
		})
	}
}
