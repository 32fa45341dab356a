package hosting

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestServe has one address open more connections than it may have, and ends the context while
// requests are in progress: one of a short request is finished, one of a stream is ended.
func TestServe(t *testing.T) {
	for name, streams := range map[string]bool{"requests": false, "streams": true} {
		t.Run(name, func(t *testing.T) {
			listener := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
			begun, goOn := make(chan struct{}, 4), make(chan struct{})
			s := &Server{Connections: 32, HeaderBytes: 1 << 10, Logger: slog.New(slog.DiscardHandler), Streams: streams,
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					begun <- struct{}{}
					select {
					case <-goOn:
					case <-r.Context().Done():
						w.WriteHeader(http.StatusGone)
					}
				})}
			ctx, stop := context.WithCancel(t.Context())
			over := make(chan error, 1)
			go func() { over <- s.Serve(ctx, listener) }()
			get := func() *bufio.Reader {
				conn := check.Value(net.Dial("tcp", listener.Addr().String()))(t)
				t.Cleanup(func() { _ = conn.Close() })
				_ = conn.SetDeadline(time.Now().Add(time.Minute))
				_, _ = fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") // a refused one may be closed
				return bufio.NewReader(conn)
			}
			var all []*bufio.Reader
			for range 4 {
				all = append(all, get())
				<-begun
			}
			check.Fails(t, check.Err(get().ReadString('\n')), "a fifth of 32 connections, for one address")
			stop()
			want := http.StatusGone
			if !streams {
				close(goOn)
				want = http.StatusOK
			}
			for _, conn := range all {
				resp, err := http.ReadResponse(conn, nil)
				check.That(t, err == nil && resp.StatusCode == want, "got %+v, %v, want %d", resp, err, want)
			}
			check.NoError(t, <-over)
		})
	}
}

// TestRates has users wait who send too much, and forgets those who have gone.
func TestRates(t *testing.T) {
	r := NewRates(1, 2)
	for _, who := range []string{"ada", "ada", "bob"} {
		check.Equal(t, who, r.take(who), 0)
	}
	wait := r.take("ada")
	check.That(t, wait > 0, "got a wait of %v, want some", wait)
	for i := range 2 * maxRated {
		r.take(fmt.Sprint(i))
	}
	n := len(r.limiters)
	check.That(t, n <= maxRated, "got %d users in memory, want at most %d", n, maxRated)
}

func TestWhileSignedIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var signedIn atomic.Bool
		signedIn.Store(true)
		ctx, end := WhileSignedIn(t.Context(), signedIn.Load)
		time.Sleep(time.Hour)
		check.NoError(t, ctx.Err(), "while the person is signed in")
		signedIn.Store(false)
		time.Sleep(checkInterval)
		synctest.Wait()
		check.That(t, ctx.Err() != nil, "the context has not ended with the session")
		end()

		ctx, end = WhileSignedIn(t.Context(), signedIn.Load)
		end()
		check.That(t, ctx.Err() != nil, "the context has not ended")
	})
}
