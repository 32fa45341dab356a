package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// decoded is what reads itself from its text.
type decoded interface {
	decode(d *jsonrpc.Decoder)
}

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

// maxCursor bounds a cursor of the server, in bytes.
const maxCursor = 64 << 10

// PageResult reads a page whose items stand under a key of the result.
type PageResult[T any] struct {
	Page[T]
	Key   string // such as "tools": to be set before the JSON is read
	Found bool   // there is a member Key, which some servers leave out with no items
	Nulls int    // how many items were null, which Items has not
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *PageResult[T]) UnmarshalJSON(data []byte) error {
	d := jsonrpc.NewDecoder(data, jsonrpc.MaxElements)
	p.decode(&d)
	return d.Err()
}

func (p *PageResult[T]) decode(d *jsonrpc.Decoder) {
	for key := range d.Members {
		switch string(key) {
		case p.Key:
			p.Found = true
			p.items(d)
		case "nextCursor":
			jsonrpc.UnmarshalMember(d, "nextCursor", &p.NextCursor)
			if p.NextCursor != nil && len(*p.NextCursor) > maxCursor {
				d.Fail(fmt.Errorf("nextCursor: %d bytes, more than %d", len(*p.NextCursor), maxCursor))
			}
		case "ttlMs":
			p.TTL = ReadTTL(d.Raw())
		case "_meta":
			p.Meta = bytes.Clone(d.Raw())
		}
	}
}

func (p *PageResult[T]) items(d *jsonrpc.Decoder) {
	p.Items, p.Nulls = nil, 0 // the last of equal members counts
	if d.Kind() == 'n' {      // null, as of servers written in Go
		d.Raw()
		return
	}
	for range d.Elements {
		if d.Kind() == 'n' {
			p.Nulls++
			continue
		}
		item := new(T)
		if own, ok := any(item).(decoded); ok {
			own.decode(d)
		} else {
			jsonrpc.UnmarshalMember(d, p.Key, item)
		}
		p.Items = append(p.Items, item)
	}
}
