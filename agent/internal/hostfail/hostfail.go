// Package hostfail turns the replies and failures of models' hosts into those of package model, for openaimodel and
// anthropicmodel.
package hostfail

import (
	"errors"
	"iter"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/internal/convert"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/chat"
)

// errStopped ends a request whose caller has stopped the iteration.
var errStopped = errors.New("caller has stopped the iteration")

// Replies yields the deltas that ask shows, and then its reply, or its error converted by failure.
func Replies(ask func(show func(model.Delta) error) (*model.Response, error), failure func(error) error) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		stopped := false
		reply, err := ask(func(d model.Delta) error {
			if stopped = stopped || !yield(d, nil); stopped {
				return errStopped
			}
			return nil
		})
		switch {
		case stopped:
		case err != nil:
			yield(model.Delta{}, failure(err))
		default:
			yield(model.Delta{Response: reply}, nil)
		}
	}
}

// Failure returns a function that converts a failure of a host to a [*model.Error]. kinds has the codes of the host. The
// function returns other errors unchanged, such as those of a context or of a streaming function.
func Failure(kinds map[string]model.ErrorKind) func(error) error {
	return func(err error) error {
		e, ok := errors.AsType[*chat.Error](err)
		if !ok {
			return err
		}
		return &model.Error{
			Kind:       kindOf(e, kinds),
			RetryAfter: e.RetryAfter,
			Retried:    e.Retryable() && !e.Begun,
			Window:     e.Window,
			Prompt:     e.Prompt,
			Err:        e,
		}
	}
}

// kindOf returns the kind of a failure by its code, or else by its HTTP status, and 0 for other failures.
func kindOf(e *chat.Error, kinds map[string]model.ErrorKind) model.ErrorKind {
	if kind, ok := kinds[e.Code]; ok {
		return kind
	}
	switch e.Code {
	case chat.CodeNoQuota:
		return model.ErrorAuth
	case chat.CodeContextLength:
		return model.ErrorTooLong
	case chat.CodeTimeout, chat.CodeIdle:
		return model.ErrorTimeout
	case chat.CodeUnreachable:
		if !e.Retryable() {
			return model.ErrorNotFound // at this URL
		}
		return model.ErrorUnavailable
	case chat.CodeTruncated, chat.CodeEmpty:
		return model.ErrorUnavailable
	}
	return convert.KindOfStatus(e.Status)
}

// Retrying returns a function that is called before a wait, with failures converted by failure.
func Retrying(retrying func(error, time.Duration), failure func(error) error) func(error, time.Duration) {
	if retrying == nil {
		return nil
	}
	return func(err error, wait time.Duration) { retrying(failure(err), wait) }
}

// codes are langchaingo's codes for the kinds of failures.
var codes = map[model.ErrorKind]llms.ErrorCode{
	0: llms.ErrCodeUnknown, model.ErrorRateLimit: llms.ErrCodeRateLimit, model.ErrorUnavailable: llms.ErrCodeProviderUnavailable,
	model.ErrorTimeout: llms.ErrCodeTimeout, model.ErrorAuth: llms.ErrCodeAuthentication,
	model.ErrorNotFound: llms.ErrCodeResourceNotFound, model.ErrorTooLong: llms.ErrCodeTokenLimit,
	model.ErrorRefused: llms.ErrCodeContentFilter, model.ErrorInvalid: llms.ErrCodeInvalidRequest,
}

// llmsError is a failure that is one of langchaingo, too.
type llmsError struct {
	failure *model.Error
	llms    *llms.Error
}

func (e *llmsError) Error() string { return e.failure.Error() }

// Unwrap returns both forms of the failure.
func (e *llmsError) Unwrap() []error { return []error{e.failure, e.llms} }

// ForLangchaingo adds langchaingo's form to a failure of a provider. It returns other errors unchanged.
func ForLangchaingo(provider string, err error) error {
	failure, ok := errors.AsType[*model.Error](err)
	if !ok {
		return err
	}
	code := codes[failure.Kind]
	if host, ok := errors.AsType[*chat.Error](err); ok && host.Code == chat.CodeNoQuota {
		code = llms.ErrCodeQuotaExceeded
	}
	return &llmsError{failure, llms.NewError(code, provider, failure.Error())}
}
