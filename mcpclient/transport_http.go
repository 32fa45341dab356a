package mcpclient

import (
	"context"
	"errors"
	"net/http"

	"github.com/mcpchain/mcpchain/mcpclient/internal/streamable"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// HTTP is the Streamable HTTP transport, in the form of the negotiated revision. A server that
// refuses initialize with status 400, 404 or 405 is tried over HTTP+SSE, as with SSE set.
//
// The standalone stream of a legacy server carries its own requests and notifications. The
// client opens it if something reads it: a handler, Options.OnNotification, a subscription, or
// a call with progress.
//
// Connections carry every request in an exchange of its own, so that a failure of one, such as
// a status or a truncated stream, is the error of that call alone. A Conn that wraps such a
// connection loses this.
type HTTP struct {
	// URL is absolute: http://host/path or https://host/path. Errors and logs show it without
	// user info and query.
	URL string

	// SSE uses HTTP+SSE from the start, the transport of revision 2024-11-05 that later
	// revisions replaced: one event stream at the URL carries every message of the server, and
	// its first event names the endpoint for posts. Set it for a server that is known to have
	// nothing newer. The stream is the connection: when it ends, all calls end. A message with
	// the token of another owner goes to the same stream.
	SSE bool

	// Client sends the requests; it is never modified or closed. Unless it has a CheckRedirect,
	// redirects to another origin are refused. Default: a client that keeps enough idle
	// connections for many concurrent calls. Do not set its Timeout, which would cut long calls
	// and streams: bound calls by their contexts. Errors of its Transport can be found with
	// errors.As in the errors of calls.
	Client *http.Client

	// Header is added to every request. Headers of the protocol (Content-Type, Mcp-*) and the
	// Authorization of Token override it. A User-Agent replaces "mcpchain" with the version of
	// this module. An Accept is tried first for messages; if the server answers 406,
	// "application/json, text/event-stream" follows, and then less.
	Header http.Header

	// Token, if set, returns the token of each request: a [transport.Bearer], or a source of
	// the host's. Errors contain no tokens. The request that ends a session has the last token
	// of that session.
	Token transport.TokenSource

	// RoundTripper, if set, wraps the transport of Client for this connection only. It sees
	// every HTTP request, including redirects and repetitions, with its credentials.
	// GetBody of a request returns its message. Dial calls it once. Its errors can be found
	// with errors.As in the errors of calls.
	//
	// A call waits for its RoundTrip and for a Read of its bodies. As with net/http, both must
	// return when the context of the request ends, and a Read also when the body is closed.
	RoundTripper func(next http.RoundTripper) http.RoundTripper

	// MaxMessage bounds one message in bytes. Default 32 MiB.
	MaxMessage int
}

// Dial prepares the connection without sending a request. It fails if the URL is invalid or
// RoundTripper returns nil. With SSE it opens the stream and waits up to 10 s for the endpoint,
// which must be on the same origin: the error is a [*transport.HTTPError] if the status
// explains it, and matches [mcp.ErrInvalidResult] if the response is not such a stream.
func (t *HTTP) Dial(ctx context.Context) (Conn, error) { return (*streamable.HTTP)(t).Dial(ctx) }

// Identity returns what distinguishes the server from others, for an [EraCache].
func (t *HTTP) Identity() string {
	if t.SSE {
		return "sse " + t.URL
	}
	return "http " + t.URL
}

// fallback returns the transport to use if the server answered initialize with err, nil if err
// is final. A server refuses it as one of 2024-11-05 does: "If it fails with [...] 400 Bad
// Request, 404 Not Found or 405 Method Not Allowed: Issue a GET request to the server URL",
// unless the body has an error of the modern era.
func (t *HTTP) fallback(err error) *HTTP {
	status, ok := errors.AsType[*transport.HTTPError](err)
	if !ok || t.SSE {
		return nil
	}
	switch status.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		older := *t
		older.SSE = true
		return &older
	}
	return nil
}
