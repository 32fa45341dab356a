package streamable

import (
	"net/http"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// statusError is a [transport.HTTPError] with more details of the response.
type statusError struct {
	*transport.HTTPError

	raw            []byte        // the body, up to 64 KiB
	rpc            *mcp.RPCError // the error in the body, or nil
	session        string        // the session that the server no longer knows, or ""
	hadCredentials bool          // the request had credentials
}

// LostSession implements [wire.LostSessionError].
func (e *statusError) LostSession() string { return e.session }

// Unwrap returns the public part, and the JSON-RPC error that the response carried, if any.
func (e *statusError) Unwrap() []error {
	if e.rpc == nil {
		return []error{e.HTTPError}
	}
	return []error{e.HTTPError, e.rpc}
}

// Error names the request, the status and the beginning of the body, and gives advice for some
// statuses.
func (e *statusError) Error() string {
	text := e.HTTPError.Error()
	switch {
	case e.Status == http.StatusUnauthorized && e.hadCredentials:
		return text + " (the server does not take the credentials that were sent: have HTTP.Token renew them, or see package oauth)"
	case e.Status == http.StatusUnauthorized:
		return text + " (the server wants authorization: set HTTP.Token, or Authorization in HTTP.Header, as in \"Bearer TOKEN\", or see package oauth)"
	}
	return text
}

// suggestsOlderServer reports whether a server of 2024-11-05, which has no Streamable HTTP, answers
// initialize with this status.
func (e *statusError) suggestsOlderServer() bool {
	return e.Status == http.StatusBadRequest || e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed
}

// meansNoStream reports whether the server says that it has no standalone stream. A 404 says so,
// too, unless the stream wasOpen before in a session, which the server has forgotten then.
func (e *statusError) meansNoStream(wasOpen bool) bool {
	return e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotFound && !(wasOpen && e.session != "")
}
