package inquiry

import "github.com/mcpchain/mcpchain/mcpclient/mcp"

// AnswerError is the error of an answer that does not fit its form. Its text is for the person who
// answers; the server gets RPCError.
type AnswerError struct{ Err error }

func (e *AnswerError) Error() string { return "elicitation answer: " + e.Err.Error() }

func (e *AnswerError) Unwrap() error { return e.Err }

// RPCError returns the error for the server.
func (e *AnswerError) RPCError() *mcp.RPCError {
	return &mcp.RPCError{Code: mcp.CodeInternalError, Message: "the answer does not fit the form"}
}
