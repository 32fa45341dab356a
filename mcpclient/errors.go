package mcpclient

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Errors of calls that the client could not make, or gave up on. Test for them with errors.Is. The
// package documentation lists the other errors of a call.
var (
	// ErrSessionLost is the error of a request that a legacy server refused because it had
	// forgotten the session (usually HTTP status 404), and that was not sent again. A new session
	// has begun, unless the error says why not.
	//
	// The effects of a tool are unknown, and [Unsent] is false: the tool may have run before the
	// stream of its answer was lost, and the status may come from a proxy.
	//
	// It is also the error of a list of a legacy server whose next page belongs to an earlier
	// session or connection.
	ErrSessionLost = errors.New("mcpclient: the server had forgotten the session")

	// ErrConnectionLost is the error of a call that was in progress when its connection ended, if
	// the client restarts by [Limits].Restarts. It wraps the cause, such as a
	// [*transport.ProcessError]. The effects of a tool are unknown, unless [Unsent] says otherwise.
	ErrConnectionLost = errors.New("mcpclient: connection lost")

	// ErrTooManyRounds is the error of a call with more input rounds than [Limits.Rounds], and of
	// one that a modern server deferred for 5 min or 32 times without asking for input. A call
	// [WithManualInput] returns at each deferral instead.
	ErrTooManyRounds = errors.New("mcpclient: too many input rounds")
)

// ErrUndeclared is the error of a call for which the server declared no capability. The call was not sent;
// [Protocol.AllowUndeclared] sends it, but not as a task of a legacy tool that does not support tasks. It is
// also the error of a subscription if the server accepts nothing of its filter.
var ErrUndeclared = errors.New("mcpclient: the server declared no capability for this")

// undeclaredError is an [ErrUndeclared] that names the capability for people, such as "resources".
type undeclaredError struct{ capability string }

// Error does not name the method: the caller adds it.
func (e *undeclaredError) Error() string { return "the server does not offer " + e.capability }

// Is reports whether target is [ErrUndeclared].
func (e *undeclaredError) Is(target error) bool { return target == ErrUndeclared }

// RevisionError is the error of [Connect] if client and server have no common protocol revision.
type RevisionError struct {
	ClientRevisions []string // only Options.Protocol.Revision, if that is set
	ServerRevisions []string // empty if the server named none
}

// Error implements error.
func (e *RevisionError) Error() string {
	server := cmp.Or(listRevisions(e.ServerRevisions), "none that it names")
	return fmt.Sprintf("no common protocol revision: the client speaks %s, the server %s",
		strings.Join(e.ClientRevisions, ", "), server)
}

// listRevisions returns the revisions of a server for an error.
func listRevisions(named []string) string {
	return excerpt.Line(strings.Join(named, ", "), excerpt.Max)
}

// Unsent reports whether err, the error of a call, proves that the server has not accepted it: the
// connection had ended before or wrote nothing of it, the function of [WithSendCheck] refused it, no
// session could be started for it, the server lacks the feature, refused the sender (HTTP status 401,
// 403 or 429, or an [*mcp.SignInError]), or could not be reached. Then the call had no effect and may
// be made again.
func Unsent(err error) bool {
	broken, isBroken := errors.AsType[*transport.BrokenError](err)
	status, isStatus := errors.AsType[*transport.HTTPError](err)
	op, isOp := errors.AsType[*net.OpError](err)
	switch { // in this order: an accepted first request outweighs whatever a later one proves
	case wraps[*begunError](err), wraps[*renewalError](err):
		return false
	case wraps[*unsentError](err):
		return true
	case isBroken && broken.ResponseBegun: // the server may only have refused to resume the response
		return false
	case errors.Is(err, ErrUndeclared), wraps[*mcp.SignInError](err):
		return true
	case isStatus && slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}, status.Status):
		return true
	}
	return isOp && op.Op == "dial"
}

func wraps[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// unsentError is the error of a request that was not sent, not even in part.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error { return e.error }

// begunError is the error of a later request of a call whose first request the server has accepted.
type begunError struct{ error }

func (e *begunError) Unwrap() error { return e.error }

// renewalError is the error of a new session, or of a probe of the era, in the error of a message that the server may have
// accepted before: it proves nothing about that message.
type renewalError struct{ error }

// Is reports whether the renewal failed with target.
func (e *renewalError) Is(target error) bool { return errors.Is(e.error, target) }

// As hides an [*mcp.RPCError], because it does not answer the message.
func (e *renewalError) As(target any) bool {
	_, isAnswer := target.(**mcp.RPCError)
	return !isAnswer && errors.As(e.error, target)
}
