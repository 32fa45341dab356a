package mcpclient

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// Errors of calls that the client could not make, or gave up: test for them with errors.Is. The
// package documentation says which other errors a call has.
var (
	// ErrSessionLost marks a request that failed because the server had forgotten
	// the session (HTTP status 404, legacy era), and that was not resent. A new
	// session has begun, unless the error says that it could not. A tool call did
	// not reach the tool, unless the stream of its answer had begun.
	// ErrSessionLost also marks a list of a legacy server if its next page belongs
	// to an earlier session or connection.
	ErrSessionLost = errors.New("mcpclient: the server had forgotten the session")

	// ErrConnectionLost marks a call that was under way when its connection ended,
	// while the client restarts by [Options.Restart]. The error wraps the cause,
	// such as a [*transport.ProcessError]. The effects of a tool are unknown, unless [Unsent] says more.
	ErrConnectionLost = errors.New("mcpclient: connection lost")

	// ErrTooManyPages marks a list of more than [Limits.Pages] pages, or with a
	// repeated cursor.
	ErrTooManyPages = errors.New("mcpclient: list does not end")

	// ErrTooManyRounds marks a call with more input rounds than [Limits.Rounds].
	ErrTooManyRounds = errors.New("mcpclient: too many input rounds")

	// ErrDeferred marks a call that a modern server deferred too long: it asked
	// only to be called again, for 5 min or 32 times. A call [WithManualInput]
	// returns at each deferral instead.
	ErrDeferred = errors.New("mcpclient: the server keeps putting the call off")
)

// CapabilityError means that the server did not declare a capability for a
// call. The call was not sent; [Protocol.AllowUndeclared] allows it.
type CapabilityError struct {
	Capability string // such as "resources"
}

// Error does not name the method: the caller adds it.
func (e *CapabilityError) Error() string {
	return "the server does not offer " + e.Capability
}

// RevisionError is the error of [Connect] if client and server share no protocol revision.
type RevisionError struct {
	Client []string // only that of Options.Protocol.Revision, if it is set
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
