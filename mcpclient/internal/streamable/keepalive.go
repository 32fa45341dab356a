package streamable

import (
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

// A server may close an idle connection while a request is on its way. If the request only reads,
// net/http sends it again (see [replayable]); nobody knows whether a tool call has run. Many servers
// say how long they keep a connection (Node.js: 5 s), so other requests can avoid those that are
// about to end.

// keepAliveMargin is how long before its end a connection is no longer used, at most half of the
// time that the server keeps it.
const keepAliveMargin = time.Second

// keepAlive is the time in nanoseconds after which the server closes an idle connection; 0 if it
// did not say so.
type keepAlive struct{ atomic.Int64 }

// learn reads the field Keep-Alive of a response, such as "timeout=5, max=100".
func (k *keepAlive) learn(resp *http.Response) {
	for _, field := range resp.Header["Keep-Alive"] {
		for parameter := range strings.SplitSeq(field, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
			seconds, err := strconv.ParseUint(value, 10, 31)
			if err == nil && strings.EqualFold(name, "timeout") {
				k.Store(int64(time.Duration(seconds) * time.Second))
			}
		}
	}
}

// avoid returns a context in which a request uses no connection that is about to be closed.
func (k *keepAlive) avoid(ctx context.Context) context.Context {
	kept := time.Duration(k.Load())
	if kept == 0 {
		return ctx
	}
	usable := kept - min(kept/2, keepAliveMargin)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		if got.IdleTime >= usable && !shared(got.Conn) {
			_ = got.Conn.Close() // net/http takes another one, as nothing was written
		}
	}})
}

// shared reports whether other requests may be using the connection: whether it is one of HTTP/2.
func shared(conn net.Conn) bool {
	c, ok := conn.(interface{ ConnectionState() tls.ConnectionState })
	return ok && c.ConnectionState().NegotiatedProtocol == "h2"
}
