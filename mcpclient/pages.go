package mcpclient

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Page is one page of a list.
type Page[T any] struct {
	Items []*T

	// NextCursor asks for the page after this one; nil on the last page. It is
	// good for this connection only, and "" is a cursor like any other. A page
	// with one over 64 KiB is an error.
	NextCursor *string

	Cache CacheHint
	Meta  json.RawMessage
}

// maxCursor bounds a cursor of the server, in bytes.
const maxCursor = 64 << 10

// list iterates over all pages of a list method whose items stand under key.
func list[T any](ctx context.Context, c *Client, method, key string, opts []CallOption) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		var cursor *string
		var session atomic.Pointer[place]    // that the cursor is of
		seen := map[[sha256.Size]byte]bool{} // the hashes of the cursors, which are large at some servers
		for page := 1; ; page++ {
			p, err := onePage[T](ctx, c, method, key, cursor, &session, opts)
			if err != nil {
				yield(nil, fmt.Errorf("%s: page %d: %w", method, page, err))
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
			}
			next := p.NextCursor
			if next == nil {
				return
			}
			hash := sha256.Sum256([]byte(*next))
			switch {
			case seen[hash]:
				yield(nil, fmt.Errorf("%s: page %d: %w: cursor %s repeated", method, page, ErrTooManyPages, c.quote([]byte(*next))))
				return
			case page == c.opts.Limits.Pages:
				yield(nil, fmt.Errorf("%s: %w: more than %d pages (Options.Limits.Pages)", method, ErrTooManyPages, page))
				return
			}
			seen[hash] = true
			cursor = next
		}
	}
}

// ListPage asks for one page of a list: the one at cursor, nil for the first. Tools are
// left out as by [Client.Tools]. The lists of a [Client] range over all pages.
func ListPage[T Tool | Prompt | Resource | ResourceTemplate](ctx context.Context, c *Client, cursor *string, opts ...CallOption) (*Page[T], error) {
	method, key := listing[T]()
	var session atomic.Pointer[place]
	session.Store(c.link.Load().place())
	p, err := onePage[T](ctx, c, method, key, cursor, &session, opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	if tools, ok := any(p).(*Page[Tool]); ok {
		tools.Items = slices.DeleteFunc(tools.Items, func(t *Tool) bool { return !c.accepts(t) })
	}
	return p, nil
}

// listing is the method that lists items of type T, and the key of the items.
func listing[T Tool | Prompt | Resource | ResourceTemplate]() (method, key string) {
	switch any((*T)(nil)).(type) {
	case *Tool:
		return "tools/list", "tools"
	case *Prompt:
		return "prompts/list", "prompts"
	case *Resource:
		return "resources/list", "resources"
	default:
		return "resources/templates/list", "resourceTemplates"
	}
}

// onePage asks for the page at cursor, which is of that session, nil for the first.
// The session becomes that of the page.
// NextCursor is nil on the last page: "clients MUST NOT treat an empty cursor as
// the end of results".
// When the server does not know a cursor any more, the pages that are kept have
// no use either.
func onePage[T any](ctx context.Context, c *Client, method, key string, cursor *string, session *atomic.Pointer[place], opts []CallOption) (*Page[T], error) {
	r := &request{method: method, lasting: true, sentIn: session}
	if cursor != nil {
		r.session = session.Load()
		r.params = append(jsonrpc.AppendString([]byte(`{"cursor":`), *cursor), '}')
	}
	p := &paged[T]{key: key}
	if err := c.call(ctx, r, p, opts); err != nil {
		if rpc, ok := errors.AsType[*RPCError](err); ok && cursor != nil && rpc.Code == CodeInvalidParams {
			c.cache.get().dropMethods(method)
		}
		return nil, err
	}
	tolerate(c, p, method)
	return &p.Page, nil
}

// paged reads a page whose items stand under key.
type paged[T any] struct {
	Page[T]
	key   string
	found bool // the items, which some servers leave out when there are none
	nulls int  // among the items, which are left out
}

// tolerate warns of what a page was read in spite of.
func tolerate[T any](c *Client, p *paged[T], method string) {
	if !p.found {
		c.link.Load().tolerated(c, "a list of the server has no items, not even none", "method", method, "want", p.key)
	}
	if p.nulls > 0 {
		c.link.Load().tolerated(c, "a list of the server has items that are null", "method", method, "nulls", p.nulls)
	}
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *paged[T]) UnmarshalJSON(data []byte) error {
	d := jsonrpc.NewDecoder(data, jsonrpc.MaxElements)
	p.decode(&d)
	return d.Err()
}

func (p *paged[T]) decode(d *jsonrpc.Decoder) {
	var ttl, scope []byte
	for key := range d.Members {
		switch string(key) {
		case p.key:
			p.found = true
			p.items(d)
		case "nextCursor":
			jsonrpc.UnmarshalMember(d, "nextCursor", &p.NextCursor)
			if p.NextCursor != nil && len(*p.NextCursor) > maxCursor {
				d.Fail(fmt.Errorf("nextCursor: %d bytes, more than %d", len(*p.NextCursor), maxCursor))
			}
		case "ttlMs":
			ttl = d.Raw()
		case "cacheScope":
			scope = d.Raw()
		case "_meta":
			p.Meta = bytes.Clone(d.Raw())
		}
	}
	p.Cache = hintOf(ttl, scope)
}

func (p *paged[T]) items(d *jsonrpc.Decoder) {
	p.Items, p.nulls = nil, 0 // the last of equal members counts
	if d.Kind() == 'n' {      // null, as of servers written in Go
		d.Raw()
		return
	}
	for range d.Elements {
		if d.Kind() == 'n' {
			p.nulls++
			continue
		}
		item := new(T)
		if own, ok := any(item).(decoded); ok {
			own.decode(d)
		} else {
			jsonrpc.UnmarshalMember(d, p.key, item)
		}
		p.Items = append(p.Items, item)
	}
}
