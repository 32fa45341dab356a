package hostfail

import (
	"errors"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/chat"
)

// NoQuota is the code of hosts if the credit of the account is used up.
const NoQuota = "insufficient_quota"

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
	if host, ok := errors.AsType[*chat.Error](err); ok && host.Code == NoQuota {
		code = llms.ErrCodeQuotaExceeded
	}
	return &llmsError{failure, llms.NewError(code, provider, failure.Error())}
}
