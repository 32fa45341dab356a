package openaimodel

import (
	"errors"
	"net/http"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/internal/chat"
)

// Error is a failed completion. Its texts hold no credentials and no query of a
// URL.
type Error struct {
	Host       string        // host name of the API, with its port if the base URL names one
	Status     int           // HTTP status, or the status in the body; 0 for no answer
	Code       string        // the host's code, or a word for the failure; may be empty
	Message    string        // at most 1 KiB
	RetryAfter time.Duration // wait that the host asked for; 0 for none
	Retryable  bool          // the same request may succeed later

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

// Repeated reports whether the model repeats calls that fail like this, as often as Options.Retries
// says. Package agent does not repeat them once more.
func (e *Error) Repeated() bool { return e.Retryable }

// ContextWindow is the model's window in tokens and the length of the request, as far as the host told them
// when it refused a request that is too long; 0 if unknown. Package agent calls it.
func (e *Error) ContextWindow() (window, request int64) { return e.cause.Window, e.cause.Prompt }

// code is langchaingo's word for the failure.
func (e *Error) code() llms.ErrorCode {
	switch e.Code {
	case chat.CodeContentFilter:
		return llms.ErrCodeContentFilter
	case chat.CodeTimeout, chat.CodeIdle:
		return llms.ErrCodeTimeout
	case chat.CodeUnreachable:
		return llms.ErrCodeProviderUnavailable
	case chat.CodeRequest:
		return llms.ErrCodeInvalidRequest
	case "insufficient_quota":
		return llms.ErrCodeQuotaExceeded
	case chat.CodeContextLength:
		return llms.ErrCodeTokenLimit
	}
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return llms.ErrCodeAuthentication
	case http.StatusNotFound:
		return llms.ErrCodeResourceNotFound
	case http.StatusTooManyRequests:
		return llms.ErrCodeRateLimit
	}
	switch {
	case e.Status >= 500:
		return llms.ErrCodeProviderUnavailable
	case e.Status >= 400:
		return llms.ErrCodeInvalidRequest
	}
	return llms.ErrCodeUnknown
}

// failure is the error of a call: an [*Error] for a failure of the host. The
// error of a context or of a streaming function stays unchanged.
func failure(err error) error {
	e, ok := errors.AsType[*chat.Error](err)
	if !ok {
		return err
	}
	return &Error{
		Host: e.Host, Status: e.Status, Code: e.Code, Message: e.Message,
		RetryAfter: e.RetryAfter, Retryable: e.Retryable(), cause: e,
	}
}
