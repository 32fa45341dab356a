package mcpclient_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
)

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
		o := legacy()
		c := connected(t, tardy{transport}, o)
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
		s := &sessionServer{streams: make(chan struct{})}
		var mu sync.Mutex
		var got []string
		server := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
			switch {
			case m.Method == "tools/call":
				<-r.Context().Done()
				return
			case m.Method == "notifications/cancelled":
				time.Sleep(time.Second)
				if r.Context().Err() != nil {
					return
				}
				fallthrough
			case r.Method == http.MethodDelete:
				mu.Lock()
				got = append(got, strings.TrimSpace(m.Method+" "+r.Header.Get("Mcp-Session-Id")))
				mu.Unlock()
			}
			s.ServeHTTP(w, r)
		})
		c := connectedBy(t, server.URL(), server.Client(), legacy())
		cancelled(t, c)
		noError(t, c.Close())
		same(t, "what the server heard last", got, []string{"notifications/cancelled s-1", "s-1"})
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
