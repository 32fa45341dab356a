package mcpclient_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Close may be called from anywhere, also from middleware around a subscription.
func TestMiddlewareCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := make(chan time.Duration, 1)
		o := mcpclient.Options{Protocol: mcpclient.Protocol{Revision: mcp.Revision20260728}}
		o.Middleware = []mcpclient.Middleware{func(next mcpclient.Handler) mcpclient.Handler {
			return func(ctx context.Context, r *mcpclient.Request) (json.RawMessage, error) {
				if r.Method == "subscriptions/listen" {
					start := time.Now()
					_ = r.Client.Close()
					took <- time.Since(start)
				}
				return next(ctx, r)
			}
		}}
		c, _ := connectedPeer(t, o)
		_, _ = c.Subscribe(t.Context(), onTools)
		if d := <-took; d > time.Second {
			t.Errorf("Close took %v", d)
		}
	})
}

// Current calls fail at once, even one whose handler is running, while an answer to a ping is
// still being sent to a server that does not read.
func TestCloseFailsCallsThatAsk(t *testing.T) {
	asked := make(chan struct{})
	o := mcpclient.Options{Protocol: mcpclient.Protocol{Revision: mcp.Revision20260728}}
	o.Sampling = mcp.SamplingFunc(func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	synctest.Test(t, func(t *testing.T) {
		asked = make(chan struct{})
		transport, conn := mcpclient.Pipe()
		p := &peer{t: t, conn: conn, inbox: make(chan message)} // reads only when the test does
		go p.read()
		go p.handshake()
		c := connected(t, transport, o)
		failed := make(chan time.Time, 1)
		go func() {
			wantIs(t, errOf(c.CallTool(t.Context(), "asks", nil)), mcpclient.ErrClosed)
			failed <- time.Now()
		}()
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"sampling/createMessage","params":`+samplingParams+`}}}}`, p.next().ID)
		<-asked
		for range 200 { // more than a pipe takes
			p.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		}
		synctest.Wait()
		start := time.Now()
		go func() { _ = c.Close() }()
		if d := (<-failed).Sub(start); d > 0 {
			t.Errorf("the call failed after %v, want at once", d)
		}
		go func() {
			for range p.inbox {
			}
		}()
		_ = c.Close()
	})
}
