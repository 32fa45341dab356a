package transport

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

var (
	// ErrClosed is the error of a connection that was closed.
	ErrClosed = errors.New("transport: connection closed")

	// ErrMessageTooLarge is the error of a message over the transport's bound.
	ErrMessageTooLarge = errors.New("transport: message too large")

	// ErrDialedOnce is the error of a second Dial of a transport that can be dialed only once.
	ErrDialedOnce = errors.New("transport: can be dialed only once")
)

// MessageError is the error of a message of the server that could not be received.
type MessageError struct {
	// Prefix is the beginning of the message, 2 KiB of it in the transports of package mcpclient,
	// from which its call may be found. It may be empty.
	Prefix []byte
	Err    error
}

// Error is the text of Err.
func (e *MessageError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *MessageError) Unwrap() error { return e.Err }

// BrokenError is the error of a request whose response was cut off or did not begin, because of
// the network. What the server did is unknown.
type BrokenError struct {
	Err error

	// ResponseBegun reports whether the response had begun: the server has accepted the request.
	ResponseBegun bool
}

// Error is the text of Err.
func (e *BrokenError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *BrokenError) Unwrap() error { return e.Err }

// ProcessError describes how the process of a mcpclient.Command transport ended.
type ProcessError struct {
	Command string // without its arguments
	Status  string // "exit status 3", "signal: killed", or why it did not start
	Stderr  string // end of its standard error, at most 2 KiB; of a long report the beginning and the end
}

// Error has the program, how it ended, and what it wrote to its standard error.
func (e *ProcessError) Error() string { return e.textWith("") }

// textWith returns the text of the error with more after the status.
func (e *ProcessError) textWith(more string) string {
	s := fmt.Sprintf("server %q: %s%s", e.Command, e.Status, more)
	if e.Stderr != "" {
		s += "; it" + onStderr(e.Stderr)
	}
	return s
}

// onStderr introduces what a process wrote to its standard error, unchanged for people.
func onStderr(output string) string { return " wrote to stderr:\n" + output }

// ServerError is the error of a server that did not answer or has ended, with what it wrote beside
// its messages.
type ServerError struct {
	Err    error
	Stderr string // end of its standard error, as in a [ProcessError]

	// Skipped is the last line of its output that is not a message, at most 1 KiB, or "". Often
	// the program is not a server, or writes its log there.
	Skipped string
}

// Error has the text of Err and what the server wrote.
func (e *ServerError) Error() string {
	more := ""
	if e.Skipped != "" {
		more = fmt.Sprintf("; it wrote a line that is not a JSON-RPC message, the last: %q", e.Skipped)
	}
	if process, ok := e.Err.(*ProcessError); ok { // its text ends with the server's output
		return process.textWith(more)
	}
	if e.Stderr != "" {
		more += "; the server" + onStderr(e.Stderr)
	}
	return e.Err.Error() + more
}

// Unwrap returns Err.
func (e *ServerError) Unwrap() error { return e.Err }

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
