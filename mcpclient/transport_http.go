package mcpclient

import (
	"context"
	"errors"
	"net/http"

	"github.com/mcpchain/mcpchain/mcpclient/internal/streamable"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// HTTP reaches a server at a URL (the Streamable HTTP transport, in the form
// that the negotiated revision has). A server that refuses initialize with the
// status 400, 404 or 405 is tried over HTTP+SSE, as with SSE set.
//
// The standalone stream of a legacy server carries its own requests and
// notifications. The client opens it if there is a reader: a handler,
// Options.OnNotification, a subscription, or a call with progress.
//
// Its connections carry every request in an exchange of its own, so that what
// goes wrong with one, a status or a stream cut short, is the error of that
// call alone. A Conn that wraps such a connection loses that.
type HTTP struct {
	// URL is absolute: http://host/path or https://host/path. Errors and logs show it without
	// user info and query.
	URL string

	// SSE speaks HTTP+SSE from the start, the transport of revision 2024-11-05 that later
	// revisions replaced: one event stream at the URL brings every message of the server, and
	// its first event names the endpoint to post to. Set it for a server that is known to speak
	// nothing newer. The stream is the connection: when it ends, all calls end with it. A
	// message with the token of another owner goes to the same stream.
	SSE bool

	// Client makes the requests; it is never changed or closed. Without a
	// CheckRedirect of its own, redirects to another origin are refused.
	// Default: a client that keeps enough idle connections for many concurrent
	// calls. A Timeout of it would cut long calls and standing streams: bound
	// calls by their contexts instead. Errors of its Transport can be found with
	// errors.As in the errors of calls.
	Client *http.Client

	// Header is added to every request. What the protocol sets (Content-Type, Mcp-*) and the
	// Authorization of Token replace it. A User-Agent in it replaces "mcpchain"
	// with the version of this module. An Accept in it is tried first for messages; if
	// the server answers 406, "application/json, text/event-stream" follows, and then less.
	Header http.Header

	// Token, when set, is asked for the token of each request: a [transport.Bearer], or
	// a source of the host's. No error shows its tokens. The request that ends a session
	// has the last token of that session.
	Token transport.TokenSource

	// RoundTripper, when set, is put around the transport of the client, for this
	// connection only: it sees every HTTP request, each redirect and each
	// repetition, with its credentials. [MessageFrom] has the message of each.
	// Dial calls it once. Its errors can be found with errors.As in the errors of calls.
	//
	// A call waits for its RoundTrip and for a Read of its bodies. As with net/http, both have
	// to end with the context of the request, and a Read with Close of the body, too.
	RoundTripper func(next http.RoundTripper) http.RoundTripper

	// MaxMessage bounds one message in bytes. Default 32 MiB.
	MaxMessage int
}

// Dial prepares the connection; no request is made yet. The error is for a URL that is not
// as HTTP.URL wants it, and for a RoundTripper that returns nil. With SSE, Dial opens the stream and
// waits up to 10 s for the endpoint, which must be on the same origin: the error is a
// [*transport.HTTPError] if the status says why there is no stream, and matches
// [mcp.ErrInvalidResult] if what came is no such stream.
func (t *HTTP) Dial(ctx context.Context) (Conn, error) { return (*streamable.HTTP)(t).Dial(ctx) }

// Identity tells the server from others, for an [EraCache].
func (t *HTTP) Identity() string {
	if t.SSE {
		return "sse " + t.URL
	}
	return "http " + t.URL
}

// fallback is the transport to use if the server answered initialize with err, nil if err is final: a server refuses
// it as one of 2024-11-05 does: "If it fails with [...] 400 Bad Request, 404 Not
// Found or 405 Method Not Allowed: Issue a GET request to the server URL". Only an
// error of the modern era in the body says that it is not.
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

// MessageFrom returns the message that an HTTP request carries, from its context, for an [HTTP].RoundTripper
// that wants method, body and status together. The message is not to be changed. It is nil for the
// standalone stream, the end of a session, and a request of another package.
func MessageFrom(ctx context.Context) []byte { return streamable.MessageFrom(ctx) }
