package apps

import "errors"

// Errors that callbacks of a host return to tell the view why a request failed. [mcp.ErrRejected] counts as ErrDenied, and an
// [*mcp.RPCError] is sent unchanged. Of other errors the view learns only that there was one, or that it took too long.
var (
	// ErrDenied says that a person, or a policy of the host, refused.
	ErrDenied = errors.New("apps: denied by the user")

	// ErrInvalid says that the view asked for something that does not exist, or in a wrong
	// form. The view is told the text of the error.
	ErrInvalid = errors.New("apps: invalid request")
)
