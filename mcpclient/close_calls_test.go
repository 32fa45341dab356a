package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// endsAtOnce checks that a pending call fails with ErrClosed as soon as the client is closed.
func endsAtOnce(t *testing.T, c *mcpclient.Client, wait func() error) {
	t.Helper()
	type end struct {
		err error
		at  time.Time
	}
	ended := make(chan end, 1)
	go func() {
		err := wait()
		ended <- end{err, time.Now()}
	}()
	synctest.Wait()
	select {
	case e := <-ended:
		t.Fatalf("it ended before Close: %v", e.err)
	default:
	}
	start := time.Now()
	noError(t, c.Close())
	e := <-ended
	took := e.at.Sub(start)
	wrong(t, took != 0 || !errors.Is(e.err, mcpclient.ErrClosed), "got %v after %v, want ErrClosed at once", e.err, took)
}

// Waiting for a task, a retry or a deferred request involves no pending request: Close ends
// these waits, too.
func TestCloseEndsPauses(t *testing.T) {
	t.Run("task", func(t *testing.T) {
		inBubble(t, undeclared(modern()), func(t *testing.T, c *mcpclient.Client, p *peer) {
			go p.reply(`{"jsonrpc":"2.0","id":%s,"result":{"taskId":"1","status":"working","pollIntervalMs":3600000}}`)
			endsAtOnce(t, c, func() error { return errOf(c.Task("1", "a").Wait(t.Context())) })
		})
	})
	t.Run("put off", func(t *testing.T) {
		inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
			go p.reply(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","requestState":"s"}}`)
			endsAtOnce(t, c, func() error { return errOf(c.CallTool(t.Context(), "a", nil)) })
		})
	})
	bubble(t, "retry", func(t *testing.T) {
		s := httpServer(t, func(w http.ResponseWriter, _ *http.Request, _ message) {
			w.Header().Set("Retry-After", "20")
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		c := connectTo(t, s, modern())
		endsAtOnce(t, c, func() error { return errOf(collect(c.Tools(t.Context()), toolName)) })
	})
}

// Messages to the server that are still pending do not delay the end of current calls.
func TestCloseEndsCallsBeforeTelling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connectTo(t, serve(t, &sessionServer{instead: func(_ http.ResponseWriter, r *http.Request, m message) bool {
			waits := m.Method == "tools/call" || m.Method == "notifications/cancelled"
			if waits {
				<-r.Context().Done()
			}
			return waits
		}}), legacy())
		cancelled(t, c)
		endsAtOnce(t, c, func() error { return errOf(c.CallTool(context.WithoutCancel(t.Context()), "b", nil)) })
	})
}

// Close may be called from anywhere, also from middleware around a subscription.
func TestMiddlewareCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := make(chan time.Duration, 1)
		o := mcpclient.Options{Protocol: mcpclient.Protocol{Revision: mcp.Revision20260728}}
		o.Middleware = []mcpclient.Middleware{handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
			if r.Method == "subscriptions/listen" {
				start := time.Now()
				_ = r.Client.Close()
				took <- time.Since(start)
			}
			return next(ctx, r)
		})}
		c, _ := connectedPeer(t, o)
		_, _ = c.Subscribe(t.Context(), onTools)
		d := <-took
		wrong(t, d > time.Second, "Close took %v", d)
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
		d := (<-failed).Sub(start)
		wrong(t, d > 0, "the call failed after %v, want at once", d)
		go func() {
			for range p.inbox {
			}
		}()
		_ = c.Close()
	})
}

// cancelled makes a call and cancels it after a second.
func cancelled(t *testing.T, c *mcpclient.Client) {
	t.Helper()
	ctx := withTimeout(t, time.Second)
	wantIs(t, errOf(c.CallTool(ctx, "a", nil)), context.DeadlineExceeded)
}

// tardy is a transport whose connections take a second for each message.
type tardy struct{ mcpclient.Transport }

type tardyConn struct{ mcpclient.Conn }

func (s tardy) Dial(ctx context.Context) (mcpclient.Conn, error) {
	conn, err := s.Transport.Dial(ctx)
	return tardyConn{conn}, err
}

func (s tardyConn) Send(ctx context.Context, message []byte) error {
	select {
	case <-time.After(time.Second):
		return s.Conn.Send(ctx, message)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// The server is notified of cancelled calls even if the client is closed right afterwards.
func TestCloseAfterCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport, p := newPeer(t)
		go p.handshake()
		c := connected(t, tardy{transport}, legacy())
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() { _, _ = c.CallTool(ctx, "a", nil) })
		}
		time.Sleep(2 * time.Second)
		cancel()
		calls.Wait()
		start := time.Now()
		noError(t, c.Close())
		if took := time.Since(start); took != 2*time.Second { // two batches of concurrent sends
			t.Errorf("Close took %v, want 2 s", took)
		}
		told := 0
		for m := range p.inbox {
			if m.Method == "notifications/cancelled" {
				told++
			}
		}
		equal(t, "the server heard of calls that were given up", told, 20)
	})
}

// It is notified of them before its session ends.
func TestCloseAfterCancelHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got diary
		c := connectTo(t, serve(t, &sessionServer{instead: func(_ http.ResponseWriter, r *http.Request, m message) bool {
			switch {
			case m.Method == "tools/call":
				<-r.Context().Done()
				return true
			case m.Method == "notifications/cancelled":
				time.Sleep(time.Second)
				if r.Context().Err() != nil {
					return true
				}
				fallthrough
			case r.Method == http.MethodDelete:
				got.write("%s", strings.TrimSpace(m.Method+" "+r.Header.Get("Mcp-Session-Id")))
			}
			return false
		}}), legacy())
		cancelled(t, c)
		noError(t, c.Close())
		same(t, "what the server heard last", got.read(), []string{"notifications/cancelled s-1", "s-1"})
	})
}

// A server that takes no more messages delays Close by half of Options.Timeouts.Close, whatever
// it sends meanwhile.
func TestCloseWithStuckPeer(t *testing.T) {
	o := legacy()
	o.Timeouts.Close = 6 * time.Second
	stuckPeer(t, o, "notifications/cancelled", func(c *mcpclient.Client, p *peer) {
		cancelled(p.t, c)
		go func() {
			time.Sleep(time.Second)
			p.send(`{"id":1,"method":"ping"}`)
		}()
		start := time.Now()
		noError(p.t, c.Close())
		equal(p.t, "Close took", time.Since(start), 3*time.Second)
	})
}
