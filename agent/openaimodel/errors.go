package openaimodel

import (
	"errors"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/internal/hostfail"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/chat"
)

// noQuota is the provider's code if the user's credit is used up.
const noQuota = "insufficient_quota"

// kindsByCode are the kinds of failures by the codes of OpenAI and of package chat.
var kindsByCode = map[string]model.ErrorKind{
	chat.CodeContentFilter: model.ErrorRefused, chat.CodeRequest: model.ErrorInvalid, noQuota: model.ErrorAuth,
	"server_error": model.ErrorUnavailable, "rate_limit_exceeded": model.ErrorRateLimit,
	chat.CodeToolUse: model.ErrorUnavailable, // the model may write another call
}

// failure converts a failure of the provider to a [*model.Error]. It returns other errors
// unchanged, such as errors of a context or of a streaming function.
func failure(err error) error {
	e, ok := errors.AsType[*chat.Error](err)
	if !ok {
		return err
	}
	return hostfail.Error(hostfail.Kind(e, kindsByCode), e)
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

// forLangchaingo adds langchaingo's form to a failure of the provider.
func forLangchaingo(err error) error {
	failure, ok := errors.AsType[*model.Error](err)
	if !ok {
		return err
	}
	code := codes[failure.Kind]
	if host, ok := errors.AsType[*chat.Error](err); ok && host.Code == noQuota {
		code = llms.ErrCodeQuotaExceeded
	}
	return &llmsError{failure, llms.NewError(code, "openai", failure.Error())}
}
