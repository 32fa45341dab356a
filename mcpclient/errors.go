package mcpclient

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// Three failures are kept apart. The server answered with an error: an
// [*mcp.RPCError]. A tool ran and failed: not an error of the call, but
// [mcp.CallToolResult.Err] makes it a [*mcp.ToolError]. We could not ask: every other
// error, among them those below.
var (

	// ErrSessionLost marks a request that came to a server which had forgotten
	// the session (HTTP status 404, legacy era), and that was not sent again. A
	// new session has begun, unless the error says that it could not. A tool call
	// did not reach the tool, unless the stream of its answer had begun. It also
	// marks a list of a legacy server whose next page was one of the session, or of
	// the connection, before.
	ErrSessionLost = errors.New("mcpclient: the server had forgotten the session")

	// ErrConnectionLost marks a call that was under way when its connection ended,
	// while the client goes on, as [Options.Restart] has it. The error has the
	// cause, such as a [*transport.ProcessError]. What a tool did is not known.
	ErrConnectionLost = errors.New("mcpclient: connection lost")

	// ErrTooManyPages marks a list that went over [Limits.Pages], or that
	// repeated a cursor.
	ErrTooManyPages = errors.New("mcpclient: list does not end")

	// ErrTooManyRounds marks a call in which the server asked for input more than
	// [Limits.Rounds] times.
	ErrTooManyRounds = errors.New("mcpclient: too many input rounds")

	// ErrDeferred marks a call that a modern server kept putting off: it asked for
	// nothing but to be called again, for 5 min or 32 times. What it was busy with
	// is not known. A call [WithManualInput] is not put off without its caller.
	ErrDeferred = errors.New("mcpclient: the server keeps putting the call off")
)

// CapabilityError says that the server did not declare what a call needs. The
// call was not sent; [Protocol.AllowUndeclared] lets it be.
type CapabilityError struct {
	Method     string
	Capability string
}

// Error leaves the method to whoever made the call.
func (e *CapabilityError) Error() string {
	return "the server does not offer " + e.Capability
}

// RevisionError says that client and server share no protocol revision.
type RevisionError struct {
	Client []string // only that of Options.Protocol.Revision, if it is set
	Server []string // empty when the server named none
}

func (e *RevisionError) Error() string {
	server := strings.Join(e.Server, ", ")
	if server == "" {
		server = "none that it names"
	}
	return fmt.Sprintf("no common protocol revision: the client speaks %s, the server %s",
		strings.Join(e.Client, ", "), excerpt.Cut(server))
}
