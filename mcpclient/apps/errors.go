package apps

import "errors"

// Errors that callbacks of a host return to tell the view why a request failed.
// [mcp.ErrRejected] counts as ErrDenied, and an [*mcp.RPCError] is sent unchanged. For other
// errors the view only learns that there was one, or that it took too long.
var (
	// ErrDenied means that a person, or a policy of the host, refused.
	ErrDenied = errors.New("apps: denied by the user")

	// ErrInvalid means that the view asked for something that does not exist or is malformed.
	// The view gets the text of the error.
	ErrInvalid = errors.New("apps: invalid request")
)
