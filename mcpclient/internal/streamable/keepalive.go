package streamable

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A server may close an idle connection of HTTP/1.1 while a request is on its way. If the request only reads, it is sent
// again at once. (net/http would do so if it had an Idempotency-Key, even an empty one, which a RoundTripper that signs
// requests must not see.) Nobody knows whether a tool call has run: others avoid connections that may be about to be closed.
const (
	usualKeepAlive  = 5 * time.Second // the default of Node.js, which says so in its responses, and of uvicorn, which does not
	keepAliveMargin = time.Second     // before the end, at most half of the time
)

// keepAlive is what the responses of a server say about its connections.
type keepAlive struct {
	timeout        atomic.Int64 // nanoseconds after which it closes an idle connection; 0 if unknown
	cleartextHTTP2 atomic.Bool  // the last response came over HTTP/2 without TLS
}

// observe reads the protocol of a response, and its field Keep-Alive, such as "timeout=5, max=100".
func (k *keepAlive) observe(resp *http.Response) {
	k.cleartextHTTP2.Store(resp.ProtoMajor == 2 && resp.TLS == nil)
	for _, field := range resp.Header["Keep-Alive"] {
		for parameter := range strings.SplitSeq(field, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
			seconds, err := strconv.ParseUint(value, 10, 31)
			if err == nil && strings.EqualFold(name, "timeout") {
				k.timeout.Store(int64(time.Duration(seconds) * time.Second))
			}
		}
	}
}

// avoidStale returns a context in which a request uses no connection that may be about to be closed, unless it is repeatable.
func (k *keepAlive) avoidStale(ctx context.Context, repeatable bool) (context.Context, *avoidance) {
	a := new(avoidance)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) {
			kept := cmp.Or(time.Duration(k.timeout.Load()), usualKeepAlive)
			reused := got.Reused && !k.cleartextHTTP2.Load() && !isShared(got.Conn)
			stale := reused && !repeatable && got.IdleTime >= kept-min(kept/2, keepAliveMargin)
			a.repeatable.Store(reused && repeatable)
			a.closed.Store(stale)
			if stale {
				_ = got.Conn.Close() // net/http takes another one, as nothing was written
			}
		},
		GotFirstResponseByte: func() { a.repeatable.Store(false) },
		WroteRequest: func(httptrace.WroteRequestInfo) {
			if !a.closed.Load() { // also called for what is in a buffer only
				a.written.Store(true)
			}
		},
	}), a
}

type avoidance struct {
	repeatable atomic.Bool // it may be sent again: its latest connection was reused, and has brought no response
	closed     atomic.Bool // its latest connection was closed because it was stale
	written    atomic.Bool // it may have been written to another connection
}

// causedFailure reports whether a request failed with err only because it took a reused connection: the server had closed
// that, or avoidStale did. Then nothing was sent; but net/http takes another connection only if it can read the body again,
// which a RoundTripper of the host may not let it.
func (a *avoidance) causedFailure(err error) bool {
	return a.repeatable.Load() && isBroken(err) || a.closed.Load() && !a.written.Load()
}

// isShared reports whether other requests may be using the connection, because it is one of HTTP/2 with TLS.
func isShared(conn net.Conn) bool {
	c, ok := conn.(interface{ ConnectionState() tls.ConnectionState })
	return ok && c.ConnectionState().NegotiatedProtocol == "h2"
}
