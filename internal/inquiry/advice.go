package inquiry

import (
	"errors"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// CannotAsk says of a tool why it could not ask: its server sends a request, which the revision in use does
// not allow. Such a tool works on a connection of an older revision.
const CannotAsk = "asks by a request to the client, which this revision of the protocol does not have"

// CannotAskAdvice is the advice of [CannotAsk] for programs.
const CannotAskAdvice = "the tool " + CannotAsk + ": " +
	"connect with " + mcp.Revision20251125 + ", by Options.Protocol.Revision, adapter.Server.Revision or \"revision\" in mcp.json"

// ErrNotAsked is what a server gets if its question could not be put to a person. No answer is made up.
var ErrNotAsked error = &mcp.RPCError{
	Code: mcp.CodeInternalError, Message: "the user was not asked: the conversation is unknown, or nobody can be asked now",
}

// AdvisedError is the error of a call with advice for its caller, which is also part of its text.
type AdvisedError struct {
	Err    error
	Advice string
}

func (e *AdvisedError) Error() string { return e.Err.Error() + " (" + e.Advice + ")" }
func (e *AdvisedError) Unwrap() error { return e.Err }

// Advice returns the advice of the error of a tool call or its result ([*mcp.ToolError]), "" if there
// is none.
func Advice(err error) string {
	if e, ok := errors.AsType[*AdvisedError](err); ok {
		return e.Advice
	}
	if e, ok := errors.AsType[*mcp.ToolError](err); ok {
		return e.Result.Advice
	}
	return ""
}
