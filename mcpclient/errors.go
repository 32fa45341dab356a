package mcpclient

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Three failures are kept apart. The server answered with an error: an
// [*mcp.RPCError]. A tool ran and failed: not an error of the call, but
// [mcp.CallToolResult.Err] makes it a [*mcp.ToolError]. We could not ask: every other
// error, among them those below.
var (

	// ErrSessionLost marks a request that came to a server which had forgotten
	// the session (HTTP status 404, legacy era), and that was not sent again. A
	// new session has begun, unless the error says that it could not. A tool call
	// did not reach the tool, unless the stream of its answer had begun. It also
	// marks a list of a legacy server whose next page was one of the session, or of
	// the connection, before.
	ErrSessionLost = errors.New("mcpclient: the server had forgotten the session")

	// ErrConnectionLost marks a call that was under way when its connection ended,
	// while the client goes on, as [Options.Restart] has it. The error has the
	// cause, such as a [*transport.ProcessError]. What a tool did is not known.
	ErrConnectionLost = errors.New("mcpclient: connection lost")

	// ErrTooManyPages marks a list that went over [Limits.Pages], or that
	// repeated a cursor.
	ErrTooManyPages = errors.New("mcpclient: list does not end")

	// ErrTooManyRounds marks a call in which the server asked for input more than
	// [Limits.Rounds] times.
	ErrTooManyRounds = errors.New("mcpclient: too many input rounds")

	// ErrDeferred marks a call that a modern server kept putting off: it asked for
	// nothing but to be called again, for 5 min or 32 times. What it was busy with
	// is not known. A call [WithManualInput] is not put off without its caller.
	ErrDeferred = errors.New("mcpclient: the server keeps putting the call off")
)

// HTTPError is an answer over HTTP whose status is the failure: one that carried
// no JSON-RPC message, or one about authorization (401, 403), load (408, 429)
// or the server's state (5xx). Where such a response carried a JSON-RPC error
// too, that is the [*mcp.RPCError] that the HTTPError wraps.
type HTTPError struct {
	Method     string // of the HTTP request
	URL        string // without user info and query
	Status     int
	Body       string        // the first KiB
	RetryAfter time.Duration // zero when the server named none

	raw      []byte        // the body, up to 64 KiB
	rpc      *mcp.RPCError // in the body, or nil
	session  string        // that the server no longer knows, or ""
	declined bool          // the request had credentials
}

// Unwrap returns the JSON-RPC error that the response carried, if any.
func (e *HTTPError) Unwrap() error {
	if e.rpc == nil {
		return nil
	}
	return e.rpc
}

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

// transient reports a status that says nothing about the server's nature.
func (e *HTTPError) transient() bool {
	return e.Status >= 500 || e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests
}

// CapabilityError says that the server did not declare what a call needs. The
// call was not sent; [Protocol.AllowUndeclared] lets it be.
type CapabilityError struct {
	Method     string
	Capability string
}

// Error leaves the method to whoever made the call.
func (e *CapabilityError) Error() string {
	return "the server does not offer " + e.Capability
}

// nothingThere reports whether a server of something else may say so of a handshake.
func (e *HTTPError) nothingThere() bool {
	switch e.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// RevisionError says that client and server share no protocol revision.
type RevisionError struct {
	Client []string // only that of Options.Protocol.Revision, if it is set
	Server []string // empty when the server named none
}

func (e *RevisionError) Error() string {
	server := strings.Join(e.Server, ", ")
	if server == "" {
		server = "none that it names"
	}
	return fmt.Sprintf("no common protocol revision: the client speaks %s, the server %s",
		strings.Join(e.Client, ", "), excerpt.Cut(server))
}
