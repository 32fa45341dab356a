package openaimodel

import (
	"errors"
	"net/http"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/internal/chat"
)

// Error is a completion that the host did not give. Its texts hold no
// credentials and no query of a URL.
type Error struct {
	Host       string        // of the API, with its port when the base URL names one
	Status     int           // of the HTTP answer, or the one that its body names; 0 for no answer
	Code       string        // the host's, or a word for what went wrong; may be empty
	Message    string        // at most 1 KiB
	RetryAfter time.Duration // that the host asked for; 0 for none
	Retryable  bool          // the same request may succeed later

	cause *chat.Error
}

// Error says where it happened, what, and in common cases what to do.
func (e *Error) Error() string { return e.cause.Error() }

// Unwrap returns what was behind it, if anything, and the same failure in
// langchaingo's terms.
func (e *Error) Unwrap() []error {
	out := []error{llms.NewError(e.code(), "openai", e.cause.Error())}
	if inner := e.cause.Unwrap(); inner != nil {
		out = append(out, inner)
	}
	return out
}

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
	case "context_length_exceeded":
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

// failure is the error of a call: an [*Error] for a failure of the host, and
// what it was for a context's end or a streaming function's error.
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
