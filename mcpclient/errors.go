package mcpclient

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// Errors of calls that the client could not make or gave up. Test for them with errors.Is. The
// package documentation lists the other errors of a call.
var (
	// ErrSessionLost is the error of a request that failed because the server had forgotten the
	// session (HTTP status 404, legacy era), and that was not sent again. A new session has
	// begun, unless the error says that this failed. A tool call did not reach the tool, unless
	// the stream of its answer had begun. It is also the error of a list of a legacy server
	// whose next page belongs to an earlier session or connection.
	ErrSessionLost = errors.New("mcpclient: the server had forgotten the session")

	// ErrConnectionLost is the error of a call that was in progress when its connection ended,
	// if the client restarts by [Options.Restart]. It wraps the cause, such as a
	// [*transport.ProcessError]. The effects of a tool are unknown, unless [Unsent] says
	// otherwise.
	ErrConnectionLost = errors.New("mcpclient: connection lost")

	// ErrTooManyPages is the error of a list with more than [Limits.Pages] pages or a repeated
	// cursor.
	ErrTooManyPages = errors.New("mcpclient: list does not end")

	// ErrTooManyRounds is the error of a call with more input rounds than [Limits.Rounds], or
	// that a modern server deferred too long: it only asked to be called again, for 5 min or 32
	// times. A call [WithManualInput] returns at each deferral instead.
	ErrTooManyRounds = errors.New("mcpclient: too many input rounds")
)

// CapabilityError is the error of a call for which the server declared no capability. The call
// was not sent; [Protocol.AllowUndeclared] allows it.
type CapabilityError struct {
	Capability string // such as "resources"
}

// Error does not name the method: the caller adds it.
func (e *CapabilityError) Error() string {
	return "the server does not offer " + e.Capability
}

// RevisionError is the error of [Connect] if client and server have no common protocol
// revision.
type RevisionError struct {
	Client []string // only Options.Protocol.Revision, if that is set
	Server []string // empty if the server named none
}

func (e *RevisionError) Error() string {
	server := strings.Join(e.Server, ", ")
	if server == "" {
		server = "none that it names"
	}
	return fmt.Sprintf("no common protocol revision: the client speaks %s, the server %s",
		strings.Join(e.Client, ", "), excerpt.Cut(server))
}
