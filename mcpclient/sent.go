package mcpclient

import (
	"errors"
	"net"
	"net/http"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Unsent reports whether err, of a call, shows that the server has not taken the call:
// the connection had ended before, or wrote nothing of it, the server could not be reached, does not offer the
// feature, or refused the request for its sender (HTTP status 401, 403 or 429, or an
// [*mcp.SignInError]). Then the call has had no effect, and may be made again.
func Unsent(err error) bool {
	if _, begun := errors.AsType[*begunError](err); begun {
		return false
	}
	if _, unsent := errors.AsType[*unsentError](err); unsent {
		return true
	}
	if broken, ok := errors.AsType[*transport.BrokenError](err); ok && broken.Begun {
		return false // whatever refused to resume the response
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

// begunError is why a later request of a call failed. The server has taken the first.
type begunError struct{ error }

func (e *begunError) Unwrap() error { return e.error }

// begun marks an error of a call whose first request the server has taken.
func begun(err error) error {
	if err == nil {
		return nil
	}
	return &begunError{err}
}
