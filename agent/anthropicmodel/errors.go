package anthropicmodel

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/chat"
)

// invalidError is a request that cannot be written for the API.
type invalidError struct{ error }

func (e *invalidError) Unwrap() error { return e.error }

// failure is the error for the caller: a [*model.Error], but for the end of a context.
func failure(err error) error {
	if invalid, ok := errors.AsType[*invalidError](err); ok {
		return &model.Error{Kind: model.ErrorInvalid, Err: invalid.error}
	}
	e, ok := errors.AsType[*chat.Error](err)
	if !ok {
		return err
	}
	return &model.Error{
		Kind: kindOf(e), RetryAfter: e.RetryAfter, Repeated: e.Retryable() && !e.Begun,
		Window: e.Window, Prompt: e.Prompt, Err: e,
	}
}

// telling has failures come as the caller knows them.
func telling(retrying func(error, time.Duration)) func(error, time.Duration) {
	if retrying == nil {
		return nil
	}
	return func(err error, wait time.Duration) { retrying(failure(err), wait) }
}

func kindOf(e *chat.Error) model.ErrorKind {
	switch e.Code {
	case chat.CodeContextLength, "request_too_large":
		return model.ErrorTooLong
	case chat.CodeTimeout, chat.CodeIdle:
		return model.ErrorTimeout
	case chat.CodeUnreachable, chat.CodeTruncated, "api_error":
		return model.ErrorUnavailable
	case "overloaded_error", "rate_limit_error":
		return model.ErrorRateLimit
	case "authentication_error", "permission_error", "billing_error":
		return model.ErrorAuth
	case "not_found_error":
		return model.ErrorNotFound
	}
	switch {
	case e.Status == http.StatusTooManyRequests, e.Status == 529:
		return model.ErrorRateLimit
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden, strings.Contains(e.Message, "credit balance"):
		return model.ErrorAuth
	case e.Status == http.StatusNotFound:
		return model.ErrorNotFound
	case e.Status == http.StatusRequestEntityTooLarge:
		return model.ErrorTooLong
	case e.Status >= 500:
		return model.ErrorUnavailable
	case e.Status >= 400:
		return model.ErrorInvalid
	}
	return model.ErrorOther
}
