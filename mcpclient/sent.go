package mcpclient

import (
	"errors"
	"net"
	"net/http"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Unsent reports whether err, the error of a call, proves that the server has not accepted it:
// the connection had ended before or wrote nothing of it, the server could not be reached,
// lacks the feature, or refused the sender (HTTP status 401, 403 or 429, or an
// [*mcp.SignInError]). Then the call had no effect and may be made again.
func Unsent(err error) bool {
	if _, begun := errors.AsType[*begunError](err); begun {
		return false
	}
	if _, unsent := errors.AsType[*unsentError](err); unsent {
		return true
	}
	if broken, ok := errors.AsType[*transport.BrokenError](err); ok && broken.Begun {
		return false // the server may only have refused to resume the response
	}
	if _, missing := errors.AsType[*CapabilityError](err); missing {
		return true
	}
	if _, refused := errors.AsType[*mcp.SignInError](err); refused {
		return true
	}
	if status, ok := errors.AsType[*transport.HTTPError](err); ok {
		switch status.Status {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
			return true
		}
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// begunError is the error of a later request of a call whose first request the server has
// accepted.
type begunError struct{ error }

func (e *begunError) Unwrap() error { return e.error }

// begun marks an error of a call whose first request the server has accepted.
func begun(err error) error {
	if err == nil {
		return nil
	}
	return &begunError{err}
}
