package mcpclient

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// refusal is an answer that no handler gave: the server asked for what it may
// not have, or in a way that is not allowed.
type refusal struct {
	*mcp.RPCError
	hint string // for the host, behind the message; "" for none
}

func (r *refusal) Error() string { return r.RPCError.Error() + r.hint }
func (r *refusal) Unwrap() error { return r.RPCError }

func refuse(code int, format string, args ...any) error {
	return &refusal{&mcp.RPCError{Code: code, Message: fmt.Sprintf(format, args...)}, ""}
}

// uninstalled refuses what the host has installed no handler for.
func uninstalled(message, option string) error {
	return &refusal{&mcp.RPCError{Code: mcp.CodeMethodNotFound, Message: message}, " (" + option + " is not set)"}
}

// errPanicked is the answer of a handler that panicked.
var errPanicked error = panickedError{}

type panickedError struct{}

func (panickedError) Error() string { return "the handler panicked" }

// RPCError is what the server gets.
func (e panickedError) RPCError() *mcp.RPCError {
	return &mcp.RPCError{Code: mcp.CodeInternalError, Message: e.Error()}
}

// wireError is what the server that asked is told of an error: what was made for
// it, and of anything else only that there was one. What is wrapped was made for
// somebody else: an answer of another server, say, with what that told us.
func wireError(err error) (e *mcp.RPCError) {
	switch made := err.(type) { // and no errors.As
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

// responseTo makes the response that carries result, or err in its wire form.
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
