package transport

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// HTTPError is an answer over HTTP whose status is the failure: one that carried
// no JSON-RPC message, or one about authorization (401, 403), load (408, 429)
// or the server's state (5xx). If such a response has a JSON-RPC error, too, the error is
// an *mcp.RPCError as well.
type HTTPError struct {
	Method     string // of the HTTP request
	URL        string // without user info and query
	Status     int
	Body       string        // the first KiB
	RetryAfter time.Duration // as the server named it, at most 24 h; zero when it named none
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
