package streamable

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// HTTPError is an answer over HTTP whose status is the failure: one that carried
// no JSON-RPC message, or one about authorization (401, 403), load (408, 429)
// or the server's state (5xx). If such a response has a JSON-RPC error, too, the
// HTTPError wraps it as an [*mcp.RPCError].
type HTTPError struct {
	Method     string // of the HTTP request
	URL        string // without user info and query
	Status     int
	Body       string        // the first KiB
	RetryAfter time.Duration // as the server named it, at most 24 h; zero when it named none

	raw      []byte        // the body, up to 64 KiB
	rpc      *mcp.RPCError // in the body, or nil
	session  string        // that the server no longer knows, or ""
	declined bool          // the request had credentials
}

// LostSession implements [transport.LostSessionError].
func (e *HTTPError) LostSession() string { return e.session }

// Unwrap returns the JSON-RPC error that the response carried, if any.
func (e *HTTPError) Unwrap() error {
	if e.rpc == nil {
		return nil
	}
	return e.rpc
}

// Error has the request, the status, the beginning of the body, and advice for some statuses.
func (e *HTTPError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: HTTP status %d", e.Method, e.URL, e.Status)
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, " (retry after %v)", e.RetryAfter)
	}
	if e.Body != "" {
		fmt.Fprintf(&b, ": %s", strconv.Quote(excerpt.Cut(e.Body)))
	}
	switch e.Status {
	case http.StatusUnauthorized:
		if e.declined {
			b.WriteString(" (the server does not take the credentials that were sent: have HTTP.Token renew them, or see package oauth)")
		} else {
			b.WriteString(" (the server wants authorization: set HTTP.Token, or Authorization in HTTP.Header, as in \"Bearer TOKEN\", or see package oauth)")
		}
	case http.StatusRequestHeaderFieldsTooLarge:
		b.WriteString(" (the header is too large on the way to the server: tools may have arguments repeated there, see x-mcp-header)")
	}
	return b.String()
}

// Transient reports a status that is about the server's state and not about the request:
// 408, 429 and 5xx.
func (e *HTTPError) Transient() bool {
	return e.Status >= 500 || e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests
}
