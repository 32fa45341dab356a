package inquiry

import (
	"context"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// ReviewLaterError is the error of a [mcp.SamplingHandler] for a request that a person has to
// approve first. It matches [mcp.ErrAnswerLater]: whoever calls the tool shows the request to
// the person, and then calls the handler again with [WithApproved]. A server that waits for the
// answer is told that no person was asked.
type ReviewLaterError struct {
	Model  string                   // chosen by the handler, "" if unknown
	Params *mcp.CreateMessageParams // params as sent to the model
}

func (e *ReviewLaterError) Error() string { return "the sampling request waits for a review" }

// Is reports whether target is [mcp.ErrAnswerLater].
func (e *ReviewLaterError) Is(target error) bool { return target == mcp.ErrAnswerLater }

// RPCError is the answer for a server that waits; see [mcp.SamplingHandler].
func (e *ReviewLaterError) RPCError() *mcp.RPCError {
	return &mcp.RPCError{Code: mcp.CodeInternalError, Message: "no person was asked to approve the request"}
}

type approval struct {
	params *mcp.CreateMessageParams
	model  string
}

type approvalKey struct{}

// WithApproved returns a context for the handler of a request that a person has approved:
// exactly params, for the model of [ReviewLaterError], or any model if model is "".
func WithApproved(ctx context.Context, params *mcp.CreateMessageParams, model string) context.Context {
	return context.WithValue(ctx, approvalKey{}, approval{params, model})
}

// Approved reports whether a person has approved a request, and for which model. It compares
// pointers, so that the approval applies to no other request with the context.
func Approved(ctx context.Context, params *mcp.CreateMessageParams) (model string, ok bool) {
	a, _ := ctx.Value(approvalKey{}).(approval)
	if params == nil || a.params != params {
		return "", false
	}
	return a.model, true
}
