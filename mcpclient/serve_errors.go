package mcpclient

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// refusal is an answer that did not come from a handler: the request was not allowed.
type refusal struct {
	*mcp.RPCError
	hint string // advice for the host, after the message; "" for none
}

func (r *refusal) Error() string { return r.RPCError.Error() + r.hint }
func (r *refusal) Unwrap() error { return r.RPCError }

// newRefusal returns a refusal with a message, which is bounded: it may have text of the server.
func newRefusal(code int, format string, args ...any) error {
	return &refusal{&mcp.RPCError{Code: code, Message: excerpt.Cut(fmt.Sprintf(format, args...))}, ""}
}

func uninstalledError(message, option string) error {
	return &refusal{&mcp.RPCError{Code: mcp.CodeMethodNotFound, Message: message}, " (" + option + " is not set)"}
}

var errExited = errors.New("the handler ended its goroutine (runtime.Goexit, as t.FailNow calls it)")

var errPanicked error = panickedError{}

type panickedError struct{}

func (panickedError) Error() string { return "the handler panicked" }

// RPCError returns the error for the server.
func (e panickedError) RPCError() *mcp.RPCError {
	return &mcp.RPCError{Code: mcp.CodeInternalError, Message: e.Error()}
}

// wireError returns what a server learns of an error: the error itself if it was made for
// the server, and otherwise only that there was one. A wrapped error was made for someone else,
// for example by another server.
func wireError(err error) (e *mcp.RPCError) {
	switch made := err.(type) { // not errors.As, see above
	case *mcp.RPCError:
		e = made
	case *refusal:
		e = made.RPCError
	case interface{ RPCError() *mcp.RPCError }:
		e = made.RPCError()
	}
	switch {
	case e != nil:
		return e
	case errors.Is(err, mcp.ErrRejected):
		return &mcp.RPCError{Code: mcp.CodeUserRejected, Message: "rejected by the user"}
	}
	return &mcp.RPCError{Code: mcp.CodeInternalError, Message: "internal error"}
}

func responseTo(id json.RawMessage, result json.RawMessage, err error) []byte {
	if err == nil {
		return jsonrpc.AppendResult(nil, id, result)
	}
	e := wireError(err)
	wire := *e
	if len(wire.Data) > 0 && !json.Valid(wire.Data) {
		wire.Data = nil
	}
	raw, err := jsonrpc.Marshal(&wire)
	if err != nil {
		raw = json.RawMessage(`{"code":-32603,"message":"internal error"}`)
	}
	return jsonrpc.AppendError(nil, id, raw)
}
