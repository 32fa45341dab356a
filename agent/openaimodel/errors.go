package openaimodel

import (
	"errors"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/internal/hostfail"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/chat"
)

// Error is a failed completion. Its texts hold no credentials and no query of a
// URL.
type Error struct {
	host       string        // host name of the API, with its port if the base URL names one
	Status     int           // HTTP status, or the status in the body; 0 for no answer
	Code       string        // the host's code, or a word for the failure; may be empty
	message    string        // at most 1 KiB
	retryAfter time.Duration // wait that the host asked for; 0 for none
	retryable  bool          // the same request may succeed later

	cause *chat.Error
}

// Error has the host, the failure, and in common cases advice.
func (e *Error) Error() string { return e.cause.Error() }

// Unwrap returns the cause, if any, and the same failure as langchaingo's
// error.
func (e *Error) Unwrap() []error {
	out := []error{llms.NewError(e.code(), "openai", e.cause.Error())}
	if inner := e.cause.Unwrap(); inner != nil {
		out = append(out, inner)
	}
	return out
}

// code is langchaingo's word for the failure.
func (e *Error) code() llms.ErrorCode {
	if e.Code == noQuota {
		return llms.ErrCodeQuotaExceeded
	}
	return hostfail.Code(e.kind())
}

// noQuota is the code of a host whose user has paid for no more.
const noQuota = "insufficient_quota"

// kinds are failures by the words of OpenAI, and by ours for it.
var kinds = map[string]model.ErrorKind{
	chat.CodeContentFilter: model.ErrorRefused, chat.CodeRequest: model.ErrorInvalid, noQuota: model.ErrorAuth,
}

func (e *Error) kind() model.ErrorKind { return hostfail.Kind(e.cause, kinds) }

// modelError is the failure of a request of an agent: a [*model.Error] with an [*Error], or what it was.
func modelError(err error) error {
	e, ok := errors.AsType[*Error](failure(err))
	if !ok {
		return err
	}
	return &model.Error{Kind: e.kind(), RetryAfter: e.retryAfter, Repeated: e.retryable, Window: e.cause.Window, Prompt: e.cause.Prompt, Err: e}
}

// failure is the error of a call: an [*Error] for a failure of the host. The
// error of a context or of a streaming function stays unchanged.
func failure(err error) error {
	e, ok := errors.AsType[*chat.Error](err)
	if !ok {
		return err
	}
	return &Error{
		host: e.Host, Status: e.Status, Code: e.Code, message: e.Message,
		retryAfter: e.RetryAfter, retryable: e.Retryable(), cause: e,
	}
}
