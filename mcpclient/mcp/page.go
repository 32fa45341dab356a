package mcp

import (
	"encoding/json"
	"time"
)

// Page is one page of a list.
type Page[T any] struct {
	Items []*T

	// NextCursor asks for the page after this one; nil on the last page. It is valid on this
	// connection only, and "" is a cursor like any other. One longer than 64 KiB is an error.
	NextCursor *string

	// TTL is how long the page is valid after it was received, as a modern server says; at most
	// 24 h. With 0 it may be stale at once.
	TTL time.Duration

	Meta json.RawMessage
}
