package transport

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// HTTPError is an HTTP response that failed by its status: one without a JSON-RPC message, or
// one about authorization (401, 403), load (408, 429) or the server's state (5xx). If such a
// response also has a JSON-RPC error, the error is an *mcp.RPCError, too.
type HTTPError struct {
	Method     string // the HTTP request's method
	URL        string // without user info or query
	Status     int
	Body       string        // the first KiB
	RetryAfter time.Duration // as sent by the server, at most 24 h; 0 if not sent
}

// Error has the request, the status and the beginning of the body.
func (e *HTTPError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: HTTP status %d", e.Method, e.URL, e.Status)
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, " (retry after %v)", e.RetryAfter)
	}
	if e.Body != "" {
		fmt.Fprintf(&b, ": %s", strconv.Quote(excerpt.Cut(e.Body)))
	}
	if e.Status == http.StatusRequestHeaderFieldsTooLarge {
		b.WriteString(" (the header is too large on the way to the server: tools may have arguments repeated there, see x-mcp-header)")
	}
	return b.String()
}
