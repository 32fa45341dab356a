// Package hostfail turns the replies and failures of models' hosts into those of package model, for openaimodel and
// anthropicmodel.
package hostfail

import (
	"net/http"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/chat"
)

// Kind returns the kind of a failure by its code, or else by its HTTP status. kinds has the codes of
// one host. It returns 0 for other failures.
func Kind(e *chat.Error, kinds map[string]model.ErrorKind) model.ErrorKind {
	if kind, ok := kinds[e.Code]; ok {
		return kind
	}
	switch e.Code {
	case chat.CodeContextLength:
		return model.ErrorTooLong
	case chat.CodeTimeout, chat.CodeIdle:
		return model.ErrorTimeout
	case chat.CodeUnreachable, chat.CodeTruncated, chat.CodeEmpty:
		return model.ErrorUnavailable
	}
	switch {
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		return model.ErrorAuth
	case e.Status == http.StatusNotFound:
		return model.ErrorNotFound
	case e.Status == http.StatusRequestTimeout:
		return model.ErrorTimeout
	case e.Status == http.StatusTooManyRequests, e.Status == statusOverloaded:
		return model.ErrorRateLimit
	case e.Status >= 500:
		return model.ErrorUnavailable
	case e.Status >= 400:
		return model.ErrorInvalid
	}
	return 0
}

// statusOverloaded is the status of an overloaded host, as Anthropic sends it.
const statusOverloaded = 529
