package mcpclient_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
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
	if took := e.at.Sub(start); took != 0 || !errors.Is(e.err, mcpclient.ErrClosed) {
		t.Errorf("got %v after %v, want ErrClosed at once", e.err, took)
	}
}

// Waiting for a task, a retry or a deferred request involves no pending request: Close ends
// these waits, too.
func TestCloseEndsPauses(t *testing.T) {
	t.Run("task", func(t *testing.T) {
		o := modern()
		o.Protocol.AllowUndeclared = true
		inBubble(t, o, func(t *testing.T, c *mcpclient.Client, p *peer) {
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
		s := &sessionServer{streams: make(chan struct{})}
		server := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
			if m.Method == "tools/call" || m.Method == "notifications/cancelled" {
				<-r.Context().Done()
				return
			}
			s.ServeHTTP(w, r)
		})
		c := connectedBy(t, server.URL(), server.Client(), legacy())
		cancelled(t, c)
		endsAtOnce(t, c, func() error { return errOf(c.CallTool(context.WithoutCancel(t.Context()), "b", nil)) })
	})
}
