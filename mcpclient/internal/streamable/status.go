package streamable

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/results"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// deliverFailure passes the JSON-RPC error in a failed response to deliver: it is the server's answer,
// unless it concerns more than this request. A code that only modern servers use is always an answer:
// it says how to ask again. Without an answer the failure is the error.
func (c *conn) deliverFailure(resp *http.Response, m *message, deliver func([]byte) bool) error {
	failure := c.statusError(resp)
	answer, err := jsonrpc.Parse(failure.raw)
	if err != nil || answer.Error == nil {
		return failure
	}
	m.sent.ErrorStatus = failure.Status
	rpc, err := results.Error(answer.Error, c.Redact)
	if err != nil {
		return failure
	}
	failure.rpc = rpc
	if rpc.Code == mcp.CodeMethodNotFound {
		failure.session = "" // the status 404 is that of the method
	}
	if (results.OnlyModern(rpc) || !failure.concernsMore(m.sent.Opens)) && deliver(failure.raw) {
		return nil
	}
	return failure
}

// codeServerError is the first of the codes that JSON-RPC leaves to servers.
const codeServerError = -32000

// meansLostSession reports whether a response means that the server does not know the session: after its end the server "MUST
// respond to requests containing that session ID with HTTP 404 Not Found" (2025-11-25 transports). But servers modelled on the
// examples of the TypeScript SDK answer 400: a POST with the error "No valid session ID provided", a GET with a text.
func meansLostSession(status int, body []byte) bool {
	if status != http.StatusBadRequest {
		return status == http.StatusNotFound
	}
	text := string(body)
	if answer, err := jsonrpc.Parse(body); err == nil {
		rpc, err := results.Error(answer.Error, strings.Clone)
		if err != nil || rpc.Code != codeServerError {
			return false
		}
		text = rpc.Message
	}
	return strings.Contains(strings.ToLower(text), "session")
}

// statusError is the error of a response whose status is not 2xx.
type statusError struct {
	*transport.HTTPError

	raw            []byte        // the body, up to 64 KiB
	rpc            *mcp.RPCError // the error in the body, or nil
	session        string        // the session that the server no longer knows, or ""
	hadCredentials bool          // the request had credentials
}

// statusError reads the body of a failed response.
func (c *conn) statusError(resp *http.Response) *statusError {
	raw := readErrorBody(resp.Body)
	lost := ""
	if meansLostSession(resp.StatusCode, raw) {
		lost = resp.Request.Header.Get(sessionHeader)
	}
	wait, _ := backoff.RetryAfter(resp.Header, time.Now())
	return &statusError{
		HTTPError: &transport.HTTPError{
			Method:     resp.Request.Method,
			URL:        c.safeURL(),
			Status:     resp.StatusCode,
			Body:       excerpt.Cut(c.Redact(strings.TrimSpace(string(raw)))),
			RetryAfter: wait,
		},
		raw:            raw,
		session:        lost,
		hadCredentials: resp.Request.Header.Get("Authorization") != "",
	}
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

// Error names the request, the status and the beginning of the body, and for 401 how to authorize.
func (e *statusError) Error() string {
	text := e.HTTPError.Error()
	switch {
	case e.Status == http.StatusUnauthorized && e.hadCredentials:
		return text + " (the server does not take the credentials that were sent: have HTTP.Token renew them, or see package oauth)"
	case e.Status == http.StatusUnauthorized:
		return text + " (the server wants authorization: set HTTP.Token, or Authorization in HTTP.Header, as in \"Bearer TOKEN\"," +
			" or see package oauth)"
	}
	return text
}

// SuggestsOlderServer reports whether a server of 2024-11-05, which has no Streamable HTTP, may have answered initialize with
// err: "If it fails with [...] 400 Bad Request, 404 Not Found or 405 Method Not Allowed: Issue a GET request to the server
// URL". A JSON-RPC error that only modern servers send is not a [*transport.HTTPError].
func SuggestsOlderServer(err error) bool {
	status, ok := errors.AsType[*transport.HTTPError](err)
	return ok && slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed}, status.Status)
}

// concernsMore reports whether a failure concerns more than its request, which opens a session or not: the caller repeats
// the request, gets another token, begins another session, or talks to the server in another way.
func (e *statusError) concernsMore(opens bool) bool {
	switch {
	case backoff.IsTransient(e.Status), e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		return true
	case opens && SuggestsOlderServer(e):
		return true
	}
	return e.session != ""
}

// meansNoStream reports whether the server says that it has no standalone stream. A 404 says so, too, but in a session it may
// also say that this is lost.
func (e *statusError) meansNoStream() bool {
	return e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotFound && e.session == ""
}
