package anthropicmodel

import (
	"errors"
	"net/http"
	"strings"

	"github.com/mcpchain/mcpchain/agent/internal/hostfail"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/chat"
)

// failure converts a failure of the provider to a [*model.Error]. It returns other errors
// unchanged, such as a context's.
func failure(err error) error {
	e, ok := errors.AsType[*chat.Error](err)
	if !ok {
		return err
	}
	return hostfail.Error(kindOf(e), e)
}

// kindsByCode are the kinds of failures by Anthropic's codes.
var kindsByCode = map[string]model.ErrorKind{
	"request_too_large": model.ErrorTooLong, "not_found_error": model.ErrorNotFound,
	"api_error": model.ErrorUnavailable, "overloaded_error": model.ErrorRateLimit, "rate_limit_error": model.ErrorRateLimit,
	"authentication_error": model.ErrorAuth, "permission_error": model.ErrorAuth, "billing_error": model.ErrorAuth,
}

// kindOf returns the kind of a failure. Some are known only by their text or status.
func kindOf(e *chat.Error) model.ErrorKind {
	kind := hostfail.Kind(e, kindsByCode)
	switch {
	case kind != model.ErrorInvalid:
	case strings.Contains(e.Message, "credit balance"):
		return model.ErrorAuth
	case e.Status == http.StatusRequestEntityTooLarge:
		return model.ErrorTooLong
	}
	return kind
}
