package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// ErrRejected says that the person or a policy refused: a [SamplingHandler] returns it, possibly
// wrapped. A legacy server gets code -1 and no more. A modern one gets no answer, and the call during
// which it asked fails with this error.
var ErrRejected = errors.New("mcp: rejected by the user")

// ErrAnswerLater leaves the answer of a handler, which returns it, possibly wrapped, to the caller of the client's
// method. If a modern server asks, the call ends with an [InputRequired], which has the answers of the other handlers
// and can be continued later, even in another process. The wait for a task of a modern server ends in the same way. A
// legacy server waits for its answer, and so it gets an error.
var ErrAnswerLater = errors.New("mcp: the question is answered later")

// ErrInvalidResult is the error of an answer that violates the protocol: it is not JSON, does not have
// the members that its method requires, or has a result type that is not allowed there.
var ErrInvalidResult = errors.New("mcp: invalid result")

// Error codes of JSON-RPC and of the protocol.
const (
	CodeUserRejected        = -1
	CodeInvalidRequest      = -32600
	CodeMethodNotFound      = -32601
	CodeInvalidParams       = -32602
	CodeInternalError       = -32603
	CodeResourceNotFound    = -32002 // up to revision 2025-11-25
	CodeHeaderMismatch      = -32020 // since revision 2026-07-28
	CodeMissingCapability   = -32021 // since revision 2026-07-28
	CodeUnsupportedRevision = -32022 // since revision 2026-07-28

	// CodeURLElicitationNeeded says that a person has to visit URLs first, in revision 2025-11-25 only. Without a handler for
	// URLs it reaches the caller: the member elicitations of Data is a list of [ElicitParams], whose URLs nobody has checked.
	CodeURLElicitationNeeded = -32042
)

// RPCError is an error with which the server answered. A handler that returns one, not wrapped,
// answers the server with its code, message and data.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error returns the server's message, cut to 1 KiB, and the code.
func (e *RPCError) Error() string {
	return fmt.Sprintf("server error %d: %s", e.Code, excerpt.Cut(e.Message))
}

// ToolError is the failure of a tool that ran: the call itself succeeded.
type ToolError struct {
	Result *CallToolResult
}

// Error returns the text of the result, cut to 1 KiB, and the advice.
func (e *ToolError) Error() string {
	text := cmp.Or(strings.TrimSpace(e.Result.Text()), "no reason given")
	if e.Result.Advice != "" {
		return fmt.Sprintf("tool %q failed: %s (%s)", e.Result.Tool, excerpt.Cut(text), e.Result.Advice)
	}
	return fmt.Sprintf("tool %q failed: %s", e.Result.Tool, excerpt.Cut(text))
}

// SignInError is the error of a request that the server refused because a person has to sign in first, in a program
// that does not ask the person. The request may be made again after the sign-in. Requests through an oauth.Transport
// with oauth.SignInPage fail with it; the HTTP client of a host may return it too, possibly wrapped.
type SignInError struct {
	URL string // a page of the host, where the person signs in
}

// Error shows the URL without its user info or query.
func (e *SignInError) Error() string {
	u, err := url.Parse(e.URL)
	if err != nil || u.Host == "" {
		return "a person has to sign in first"
	}
	return excerpt.Cut("a person has to sign in first, at " + (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String())
}
