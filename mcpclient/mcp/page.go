package mcp

import (
	"encoding/json"
	"time"
)

// Page is one page of a list.
type Page[T any] struct {
	Items []*T

	// NextCursor asks for the page after this one; nil on the last page. It is
	// good for this connection only, and "" is a cursor like any other. A page
	// with one over 64 KiB is an error.
	NextCursor *string

	// TTL is how long a modern server says that the page holds, since it was received and at most 24 h. 0: it
	// may be stale at once.
	TTL time.Duration

	Meta json.RawMessage
}
