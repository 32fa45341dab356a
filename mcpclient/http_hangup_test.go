package mcpclient_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// If the server closes a new connection at once, a request that is safe to repeat is sent on
// another one.
func TestClosedNewConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &cutter{cut: func(*http.Request, int) bool { return false }}
		s := httpServer(t, server.serve)
		s.Transport().DisableKeepAlives = true // no connection is used twice
		var ends []net.Conn
		dial := s.Transport().DialContext
		s.Transport().DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if len(ends) == 0 {
				return dial(ctx, network, addr)
			}
			end := ends[0]
			ends = ends[1:]
			return end, nil
		}
		client := s.Client()
		client.Transport = watchedConns(s.Transport(), synctest.Wait) // until net/http has noticed the end
		closed := func() net.Conn {
			ours, theirs := net.Pipe()
			_ = theirs.Close()
			return ours
		}
		c := connectedBy(t, s.URL(), client, modern())
		ends = []net.Conn{closed(), closed()}
		start := time.Now()
		if _, err := c.Call(t.Context(), "tools/list", nil); err != nil || time.Since(start) < 250*time.Millisecond {
			t.Errorf("got %v after %v, want an answer to the third request", err, time.Since(start))
		}
		ends = []net.Conn{closed()}
		_, err := c.Call(t.Context(), "tools/call", nil)
		if wantError[*transport.BrokenError](t, err); len(server.got) != 1 {
			t.Errorf("got the requests %q after %v", server.got, err)
		}
	})
}

// watchedConns calls got when a request has its connection.
func watchedConns(next http.RoundTripper, got func()) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { got() }}
		return next.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	})
}

// A request whose stream an HTTP/2 server resets is sent again if that is safe.
func TestResetOverHTTP2(t *testing.T) {
	var resets atomic.Int32 // remaining
	answers := &cutter{cut: func(*http.Request, int) bool { return false }}
	s := httptest.NewUnstartedServer(httpHandler(func(w http.ResponseWriter, r *http.Request, m message) {
		if resets.Add(-1) >= 0 {
			panic(http.ErrAbortHandler)
		}
		answers.serve(w, r, m)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	c := connectedBy(t, s.URL, s.Client(), modern())
	resets.Store(1)
	if _, err := c.Call(t.Context(), "tools/list", nil); err != nil || resets.Load() >= 0 {
		t.Errorf("got %v with %d resets left", err, resets.Load())
	}
	resets.Store(1)
	_, err := c.Call(t.Context(), "tools/call", nil)
	wantError[*transport.BrokenError](t, err)
}

// The error for a connection that an HTTP/2 server leaves says that the request may have had an
// effect.
func TestGoAway(t *testing.T) {
	for name, end := range map[string]string{
		"goaway": "\x00\x00\x08\x07\x00\x00\x00\x00\x00" + "\x00\x00\x00\x01" + "\x00\x00\x00\x02", // it processed stream 1; INTERNAL_ERROR
		"none":   "",
	} {
		t.Run(name, func(t *testing.T) {
			tlsOnly := httptest.NewUnstartedServer(nil)
			tlsOnly.EnableHTTP2 = true
			tlsOnly.StartTLS()
			defer tlsOnly.Close()
			l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: tlsOnly.TLS.Certificates, NextProtos: []string{"h2"}})
			must(t, err)
			var serving sync.WaitGroup
			defer serving.Wait()
			defer func() { _ = l.Close() }()
			serving.Go(func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					serving.Go(func() { leave(conn, end) })
				}
			})
			_, err = connectBy(t, "https://"+l.Addr().String(), tlsOnly.Client(), modern())
			wantError[*transport.BrokenError](t, err)
			if mcpclient.Unsent(err) {
				t.Errorf("got %v as of a request that was not sent", err)
			}
		})
	}
}

// leave waits for a request over HTTP/2, writes end and closes the connection.
func leave(conn net.Conn, end string) {
	defer func() { _ = conn.Close() }()
	if _, err := io.CopyN(io.Discard, conn, int64(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	_, _ = io.WriteString(conn, "\x00\x00\x00\x04\x00\x00\x00\x00\x00") // SETTINGS
	for {
		var head [9]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return
		}
		size := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		if _, err := io.CopyN(io.Discard, conn, size); err != nil {
			return
		}
		if kind, flags := head[3], head[4]; kind <= 1 && flags&1 != 0 { // the last DATA or HEADERS of the stream
			_, _ = io.WriteString(conn, end)
			return
		}
	}
}
