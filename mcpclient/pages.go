package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

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
		seen := map[[sha256.Size]byte]bool{} // the hashes of the cursors, which are large at some servers
		for page := 1; ; page++ {
			p, err := onePage[T](ctx, c, method, key, cursor, opts)
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
			case page == c.opts.MaxPages:
				yield(nil, fmt.Errorf("%s: %w: more than %d pages (Options.MaxPages)", method, ErrTooManyPages, page))
				return
			}
			seen[hash] = true
			cursor = next
		}
	}
}

// page is [onePage] with an error that says what was asked.
func page[T any](ctx context.Context, c *Client, method, key string, cursor *string, opts []CallOption) (*Page[T], error) {
	p, err := onePage[T](ctx, c, method, key, cursor, opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return p, nil
}

// onePage asks for the page at cursor, nil for the first. NextCursor is nil on
// the last page: "clients MUST NOT treat an empty cursor as the end of results".
// When the server does not know a cursor any more, the pages that are kept have
// no use either.
func onePage[T any](ctx context.Context, c *Client, method, key string, cursor *string, opts []CallOption) (*Page[T], error) {
	r := &request{method: method, lasting: true}
	if cursor != nil {
		r.params = append(jsonrpc.AppendString([]byte(`{"cursor":`), *cursor), '}')
	}
	var members map[string]json.RawMessage
	if err := c.call(ctx, r, &members, opts); err != nil {
		if rpc, ok := errors.AsType[*RPCError](err); ok && cursor != nil && rpc.Code == CodeInvalidParams {
			c.cache.dropMethods(method)
		}
		return nil, err
	}
	p, err := decodePage[T](members, key)
	if err != nil {
		c.cache.forget(r)
		return nil, fmt.Errorf("%w: %w", ErrInvalidResult, err)
	}
	return p, nil
}

func decodePage[T any](members map[string]json.RawMessage, key string) (*Page[T], error) {
	p := new(Page[T])
	items, ok := members[key]
	if !ok {
		return nil, fmt.Errorf("no member %q", key)
	}
	if err := json.Unmarshal(items, &p.Items); err != nil {
		return nil, fmt.Errorf("member %q: %v", key, err)
	}
	if slices.Contains(p.Items, nil) {
		return nil, fmt.Errorf("member %q: an item is null", key)
	}
	if next, ok := members["nextCursor"]; ok {
		if err := json.Unmarshal(next, &p.NextCursor); err != nil {
			return nil, fmt.Errorf("nextCursor: %v", err)
		}
		if p.NextCursor != nil && len(*p.NextCursor) > maxCursor {
			return nil, fmt.Errorf("nextCursor: %d bytes, more than %d", len(*p.NextCursor), maxCursor)
		}
	}
	p.Cache = hintOf(members["ttlMs"], members["cacheScope"])
	p.Meta = members["_meta"]
	return p, nil
}
