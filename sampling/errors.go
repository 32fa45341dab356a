package sampling

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// The kinds of refusals.
const (
	kindPolicy = "policy" // the host's policy for the server
	kindReview = "review" // the reviewer
	kindSize   = "size"   // Limits.InputBytes
	kindBudget = "budget" // Requests or Tokens of Limits or of a Budget
	kindCost   = "cost"   // Cost of Limits or of a Budget
	kindDepth  = "depth"  // maxDepth
)

// refusedError reports that a limit, the policy or the reviewer refused a request. It wraps
// [mcp.ErrRejected], so legacy servers get code -1, with the kind as data.reason.
type refusedError struct {
	kind   string
	reason string // the server sees it

	cause error
}

// Error returns the reason without the reviewer's error, because the server gets the text.
func (e *refusedError) Error() string { return "sampling request refused: " + e.reason }

// Unwrap returns [mcp.ErrRejected], the [*mcp.RPCError] for the server and, if there is one, the reviewer's error.
func (e *refusedError) Unwrap() []error {
	all := []error{mcp.ErrRejected, e.RPCError(), e.cause}
	return slices.DeleteFunc(all, func(err error) bool { return err == nil })
}

// RPCError returns the error for the server; see [mcp.SamplingHandler].
func (e *refusedError) RPCError() *mcp.RPCError {
	return &mcp.RPCError{
		Code: mcp.CodeUserRejected, Message: e.Error(),
		Data: encodeJSON(map[string]string{"reason": e.kind}),
	}
}

// newRefusal returns the error for a request that the host refuses.
func newRefusal(kind string, reason string) error { return &refusedError{kind: kind, reason: reason} }

// invalidError returns the error for an invalid request.
func invalidError(err error) error {
	return &mcp.RPCError{Code: mcp.CodeInvalidParams, Message: err.Error()}
}

// modelError returns the error for a failure of the model. The server sees the kind
// of failure; only the log has the host's text, name and address.
func (s *Sampler) modelError(ctx context.Context, r *run, err error) error {
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	s.options.Logger.Warn("sampling: the model failed", "model", r.model.ID, "error", err)
	data := failureData{Reason: "model_failure"}
	message := "the model could not answer"
	if failure, ok := errors.AsType[*chat.Error](err); ok {
		message, data.Reason = describe(failure)
		data.Retryable = failure.Retryable()
		if failure.Status >= 400 {
			data.Status, r.record.Status = failure.Status, failure.Status
		}
	}
	return &mcp.RPCError{Code: mcp.CodeInternalError, Message: message, Data: encodeJSON(data)}
}

// noModelError returns the error if no model can answer the request. Only the log has the cause.
func (s *Sampler) noModelError(err error) error {
	const message = "the host has no model that can answer the request"
	s.options.Logger.Warn("sampling: "+message, "error", err)
	return &mcp.RPCError{Code: mcp.CodeInternalError, Message: message, Data: encodeJSON(failureData{Reason: "no_model"})}
}

// failureData explains to the server why there is no answer.
type failureData struct {
	Reason    string `json:"reason"`
	Status    int    `json:"status,omitempty"`
	Retryable bool   `json:"retryable"`
}

// failures explain the codes of failures, to the server and in its data.
var failures = map[string]struct{ message, reason string }{
	chat.CodeContentFilter: {"the model's provider withheld the answer", "content_filter"},
	chat.CodeRequest:       {"the model's provider does not support such a request", "unsupported"},
	chat.CodeUnreachable:   {"the model's provider cannot be reached", "unreachable"},
	chat.CodeTimeout:       {"the model did not answer in time", "timeout"},
	chat.CodeIdle:          {"the model did not answer in time", "timeout"},
	chat.CodeTooLarge:      {"the model's answer is too large", "too_large"},
	chat.CodeNoToolCall:    {"the model called no tool although one was required", "no_tool_call"},
	chat.CodeContextLength: {"the request is too long for the model", "context_length"},
}

// describe explains a failure of the host without the host's own text.
func describe(e *chat.Error) (message, reason string) {
	if f, ok := failures[e.Code]; ok {
		return f.message, f.reason
	}
	switch {
	case e.Status == http.StatusTooManyRequests && e.Code != chat.CodeNoQuota:
		return "the model's provider is busy", "rate_limit"
	case e.Status >= 500:
		return "the model's provider failed", "host_failure"
	case e.Status >= 400:
		return "the model's provider did not accept the request", "host_refusal"
	}
	return "the model's answer is unusable", "bad_answer"
}
