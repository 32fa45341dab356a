package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// list iterates over all pages of a list method whose items stand under key.
func list[T any](ctx context.Context, c *Client, method, key string, opts []CallOption) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		var cursor *string
		seen := map[string]bool{}
		for page := 1; ; page++ {
			items, next, err := onePage[T](ctx, c, method, key, cursor, opts)
			if err != nil {
				yield(nil, fmt.Errorf("%s: page %d: %w", method, page, err))
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			switch {
			case next == nil:
				return
			case seen[*next]:
				yield(nil, fmt.Errorf("%s: page %d: %w: cursor %s repeated", method, page, ErrTooManyPages, quote([]byte(*next))))
				return
			case page == c.opts.MaxPages:
				yield(nil, fmt.Errorf("%s: %w: more than %d pages (Options.MaxPages)", method, ErrTooManyPages, page))
				return
			}
			seen[*next] = true
			cursor = next
		}
	}
}

// onePage asks for the page at cursor, nil for the first. next is nil on the
// last page: "clients MUST NOT treat an empty cursor as the end of results".
func onePage[T any](ctx context.Context, c *Client, method, key string, cursor *string, opts []CallOption) (items []*T, next *string, err error) {
	r := &request{method: method}
	if cursor != nil {
		r.params = append(jsonrpc.AppendString([]byte(`{"cursor":`), *cursor), '}')
	}
	var members map[string]json.RawMessage
	if err := c.call(ctx, r, &members, opts); err != nil {
		return nil, nil, err
	}
	raw, ok := members[key]
	if !ok {
		return nil, nil, fmt.Errorf("%w: no member %q", ErrInvalidResult, key)
	}
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, nil, fmt.Errorf("%w: member %q: %v", ErrInvalidResult, key, err)
	}
	if slices.Contains(items, nil) {
		return nil, nil, fmt.Errorf("%w: member %q: an item is null", ErrInvalidResult, key)
	}
	if raw, ok := members["nextCursor"]; ok {
		if err := json.Unmarshal(raw, &next); err != nil {
			return nil, nil, fmt.Errorf("%w: nextCursor: %v", ErrInvalidResult, err)
		}
	}
	return items, next, nil
}
