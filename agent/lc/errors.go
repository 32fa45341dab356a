package lc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/internal/convert"
	"github.com/mcpchain/mcpchain/agent/model"
)

// failure converts the error of a call to a [*model.Error], or to that of the context if it has ended. Some providers only
// keep the text of that one.
func failure(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("%w: %w", ended, err)
	}
	if own, ok := errors.AsType[*model.Error](err); ok {
		return own
	}
	return &model.Error{Kind: kindOf(err), Err: err}
}

// kinds has the kinds of failures by langchaingo's codes.
var kinds = map[llms.ErrorCode]model.ErrorKind{
	llms.ErrCodeAuthentication: model.ErrorAuth, llms.ErrCodeQuotaExceeded: model.ErrorAuth,
	llms.ErrCodeRateLimit: model.ErrorRateLimit, llms.ErrCodeProviderUnavailable: model.ErrorUnavailable,
	llms.ErrCodeTimeout: model.ErrorTimeout, llms.ErrCodeResourceNotFound: model.ErrorNotFound,
	llms.ErrCodeTokenLimit: model.ErrorTooLong, llms.ErrCodeContentFilter: model.ErrorRefused,
	llms.ErrCodeInvalidRequest: model.ErrorInvalid, llms.ErrCodeNotImplemented: model.ErrorInvalid,
}

// kindOf returns the kind of a failure. Most of langchaingo's providers report the status only in the text.
func kindOf(err error) model.ErrorKind {
	if known, ok := errors.AsType[*llms.Error](err); ok {
		return kinds[known.Code]
	}
	text := strings.ToLower(err.Error())
	for _, long := range []string{"context length", "context window", "context limit", "context_length_exceeded", "prompt is too long",
		"input is too long", "input token count"} {
		if strings.Contains(text, long) {
			return model.ErrorTooLong
		}
	}
	if m := statusText.FindStringSubmatch(text); m != nil {
		status, _ := strconv.Atoi(m[1])
		return convert.KindOfStatus(status)
	}
	failure, isNet := errors.AsType[net.Error](err)
	switch {
	case isNet && failure.Timeout(), strings.Contains(text, "request timeout: "): // the latter of openai, as below
		return model.ErrorTimeout
	case isNet, strings.Contains(text, "network error: "):
		return model.ErrorUnavailable
	}
	return 0 // another failure
}

// statusText matches a status in the errors of langchaingo's providers.
var statusText = regexp.MustCompile(`(?:status ?code:?|googleapi: error|http error:?) ([45]\d\d)\b`)
