package openaimodel

import (
	"errors"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/internal/hostfail"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/chat"
)

// Error is a failure of the provider. Its text contains no credentials and no query of a URL. The
// error of [Model.Generate] is a [*model.Error] that wraps it.
type Error struct {
	Status int    // HTTP status, or the status in the body; 0 for no answer
	Code   string // the provider's code, or one of this module; may be empty

	cause *chat.Error
}

// Error returns the provider, the failure and, in common cases, advice.
func (e *Error) Error() string { return e.cause.Error() }

// Unwrap returns the failure as an [*llms.Error], and the cause, if any.
func (e *Error) Unwrap() []error {
	out := []error{llms.NewError(e.code(), "openai", e.cause.Error())}
	if inner := e.cause.Unwrap(); inner != nil {
		out = append(out, inner)
	}
	return out
}

// code returns langchaingo's code for the failure.
func (e *Error) code() llms.ErrorCode {
	if e.Code == noQuota {
		return llms.ErrCodeQuotaExceeded
	}
	return hostfail.Code(e.kind())
}

// noQuota is the provider's code if the user's credit is used up.
const noQuota = "insufficient_quota"

// kindsByCode are the kinds of failures by the codes of OpenAI and of package chat.
var kindsByCode = map[string]model.ErrorKind{
	chat.CodeContentFilter: model.ErrorRefused, chat.CodeRequest: model.ErrorInvalid, noQuota: model.ErrorAuth,
	"server_error": model.ErrorUnavailable, "rate_limit_exceeded": model.ErrorRateLimit,
	chat.CodeToolUse: model.ErrorUnavailable, // the model may write another call
}

// kind returns the kind of the failure.
func (e *Error) kind() model.ErrorKind { return hostfail.Kind(e.cause, kindsByCode) }

// modelError converts a failure of the provider to a [*model.Error] that wraps an [*Error]. It
// returns other errors unchanged.
func modelError(err error) error {
	e, ok := errors.AsType[*Error](failure(err))
	if !ok {
		return err
	}
	return hostfail.Error(e.kind(), e.cause, e)
}

// failure converts a failure of the provider to an [*Error]. It returns other errors unchanged,
// such as errors of a context or of a streaming function.
func failure(err error) error {
	e, ok := errors.AsType[*chat.Error](err)
	if !ok {
		return err
	}
	return &Error{Status: e.Status, Code: e.Code, cause: e}
}
