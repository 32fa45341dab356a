package apps

import "errors"

// Errors by which what a host does for a view says how it ended. [mcp.ErrRejected] is told as ErrDenied, and an
// [*mcp.RPCError] as it is. Of other errors a view is told only that there was one, or that it took too long.
var (
	// ErrDenied says that a person, or a policy of the host, refused.
	ErrDenied = errors.New("apps: denied by the user")

	// ErrInvalid says that the view asked for something that does not exist, or in a wrong
	// form. The view is told the text of the error.
	ErrInvalid = errors.New("apps: invalid request")
)
