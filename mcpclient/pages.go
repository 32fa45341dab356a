package mcpclient

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/results"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// List iterates over all pages of a list for which [Client] has no method, such as tasks/list of
// revision 2025-11-25 or a list of an extension: method requests a page, which has its items under
// key. Each range asks the server again, except for cached pages; an error is the last pair.
func List[T any](ctx context.Context, c *Client, method, key string, opts ...CallOption) iter.Seq2[*T, error] {
	return list[T](ctx, c.lists, method, key, opts)
}

const maxPages = 1000

var errEndless = errors.New("mcpclient: list does not end")

// pageReader requests the pages of lists.
type pageReader struct {
	*peer
	cache *cache
	read  func(ctx context.Context, r *request, page any, opts []CallOption) error
}

// list iterates over the pages of a list. Items from the cache are held back until a page of the server or the end of the list
// is known: "If a cursor becomes invalid …, the client SHOULD discard all cached pages and re-fetch from the beginning"
// (2026-07-28 caching). That happens once.
func list[T any](ctx context.Context, c *pageReader, method, key string, opts []CallOption) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		w := pageWalk{pageReader: c, method: method}
		var held []*T
		for restarted := false; ; {
			p, err := onePage[T](ctx, c, method, key, w.cursor, &w.session, opts)
			if w.isCached() && !restarted && isLostCursor(err, w.cursor) {
				w, held, restarted = pageWalk{pageReader: c, method: method}, nil, true
				continue
			}
			more := false
			if err == nil {
				held = append(held, p.Items...)
				more, err = w.advance(p.NextCursor)
			} else {
				err = fmt.Errorf("%s: page %d: %w", method, w.pages+1, err)
			}
			if more && w.isCached() {
				continue
			}
			for _, item := range held {
				if !yield(item, nil) {
					return
				}
			}
			held = nil
			if err != nil {
				yield(nil, err)
			}
			if !more {
				return
			}
		}
	}
}

// pageWalk is a position in the pages of a list.
type pageWalk struct {
	*pageReader
	method string

	pages   int                        // pages so far
	cursor  *string                    // cursor of the next page
	session sessionRef                 // session of the cursor; zero while all pages came from the cache
	seen    map[[sha256.Size]byte]bool // hashes of the cursors, which some servers make large
}

func (w *pageWalk) isCached() bool { return w.session == (sessionRef{}) }

// advance moves to the page at a cursor, nil for none. The error says that the list does not end.
func (w *pageWalk) advance(cursor *string) (more bool, _ error) {
	w.pages++
	w.cursor = cursor
	if cursor == nil {
		return false, nil
	}
	hash := sha256.Sum256([]byte(*cursor))
	switch {
	case w.seen[hash]:
		return false, fmt.Errorf("%s: page %d: %w: cursor %s repeated", w.method, w.pages, errEndless, w.quote([]byte(*cursor)))
	case w.pages == maxPages:
		return false, fmt.Errorf("%s: %w: more than %d pages", w.method, errEndless, w.pages)
	case w.seen == nil:
		w.seen = map[[sha256.Size]byte]bool{}
	}
	w.seen[hash] = true
	return true, nil
}

// ListPage requests one page of a list: the page at cursor, or the first for nil. It leaves out
// the same tools as [Client.Tools]. The list methods of [Client] iterate over all pages.
func ListPage[T mcp.Tool | mcp.Prompt | mcp.Resource | mcp.ResourceTemplate](
	ctx context.Context, c *Client, cursor *string, opts ...CallOption,
) (*mcp.Page[T], error) {
	method, key := listing[T]()
	session := c.link.Load().nextSession()
	p, err := onePage[T](ctx, c.lists, method, key, cursor, &session, opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	if tools, ok := any(p).(*mcp.Page[mcp.Tool]); ok {
		tools.Items = slices.DeleteFunc(tools.Items, func(t *mcp.Tool) bool { return !c.tools.learnListed(t) })
	}
	return p, nil
}

func listing[T mcp.Tool | mcp.Prompt | mcp.Resource | mcp.ResourceTemplate]() (method, key string) {
	switch any((*T)(nil)).(type) {
	case *mcp.Tool:
		return "tools/list", "tools"
	case *mcp.Prompt:
		return "prompts/list", "prompts"
	case *mcp.Resource:
		return "resources/list", "resources"
	default:
		return "resources/templates/list", "resourceTemplates"
	}
}

// onePage requests the page at cursor, which belongs to the session, or the first page for nil.
// It updates the session to the page's. NextCursor is nil on the last page: "clients MUST
// NOT treat an empty cursor as the end of results". If the server no longer knows a cursor,
// onePage removes the cached pages.
func onePage[T any](
	ctx context.Context, c *pageReader, method, key string, cursor *string, session *sessionRef, opts []CallOption,
) (*mcp.Page[T], error) {
	r := &request{method: method}
	if cursor != nil {
		if *session != (sessionRef{}) {
			r.session = new(*session)
		}
		r.params = append(jsonrpc.AppendString([]byte(`{"cursor":`), *cursor), '}')
	}
	opts = append(slices.Clip(opts), func(o *callOptions) { o.responseSession = session })
	p := &results.Page[T]{Key: key}
	if err := c.read(ctx, r, p, opts); err != nil {
		if isLostCursor(err, cursor) {
			c.cache.dropMethods(method)
		}
		return nil, err
	}
	if !p.Found {
		c.logViolation("a list of the server has no items, not even none", "method", method, "want", key)
	}
	if p.Nulls > 0 {
		c.logViolation("a list of the server has items that are null", "method", method, "nulls", p.Nulls)
	}
	return &p.Page, nil
}

func isLostCursor(err error, cursor *string) bool {
	rpc, ok := errors.AsType[*mcp.RPCError](err)
	return ok && cursor != nil && rpc.Code == mcp.CodeInvalidParams
}
