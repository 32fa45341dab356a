package openaimodel

import (
	"errors"

	"github.com/mcpchain/mcpchain/agent/internal/hostfail"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/chat"
)

// kindsByCode are the kinds of failures by the codes of OpenAI and of package chat.
var kindsByCode = map[string]model.ErrorKind{
	chat.CodeContentFilter: model.ErrorRefused, chat.CodeRequest: model.ErrorInvalid, hostfail.NoQuota: model.ErrorAuth,
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
