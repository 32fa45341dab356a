package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// maxCacheEntries bounds the number of cached results; Options.Limits.Cache bounds their size.
const maxCacheEntries = 1024

// WithoutCache makes this call ask the server even if the result is cached. The new result
// replaces the cached one.
func WithoutCache() CallOption {
	return func(o *callOptions) { o.noCache = true }
}

// cache stores results for as long as their server allows. It belongs to one client, so that
// private results are not shared. The zero value is ready.
type cache struct {
	mu      sync.Mutex
	entries map[cacheKey]*cached
	bytes   int
	uses    int    // entries returned or stored so far
	owner   string // the user whose results these are

	generation int // counts invalidations: a result that was requested before one is not stored
}

type cacheKey struct {
	method string
	params string
}

type cached struct {
	target  string // the URI that was read
	result  json.RawMessage
	expires time.Time
	used    int // value of uses at the last use
	size    int // approximate, in bytes
}

// withCache returns a cached result if there is one, and stores the result of a request without
// input rounds. Requests with entries of _meta that the caller set, and requests that answer a
// round, are never cached. If the user of the token is unknown, all results are removed.
func withCache(next sender, kept *cache, limit int, c *Client) sender {
	if limit <= 0 {
		return next
	}
	return func(ctx context.Context, r *request, o *callOptions) (response, error) {
		if len(r.answers) > 0 || len(o.meta) > 0 || !c.current().has(cacheHints) {
			return next(ctx, r, o)
		}
		owner, known := c.cacheOwner(ctx)
		if !known {
			kept.clear()
			return next(ctx, r, o)
		}
		raw, generation := kept.get(r, owner)
		ended := ctx.Err() != nil || c.Err() != nil
		if raw != nil && !o.noCache && !ended {
			return response{result: raw}, nil
		}
		got, err := next(ctx, r, o)
		if err != nil || got.repeats > 0 {
			return got, err
		}
		if now, known := c.cacheOwner(ctx); known && now == owner { // the request may have had another user's token
			kept.put(r, got.result, generation, limit)
		}
		return got, nil
	}
}

// cacheOwner returns the user whose results may be cached. known is false if the source of
// tokens returns an error.
func (p *peer) cacheOwner(ctx context.Context) (owner string, known bool) {
	x := p.link.Load().exchange
	if x == nil {
		return "", true
	}
	owner, err := x.Owner(ctx)
	return owner, err == nil
}

// setOwnerLocked sets the user whose results are cached, and removes those of another user.
func (k *cache) setOwnerLocked(owner string) {
	if k.owner == owner {
		return
	}
	k.owner = owner
	k.generation++
	for key := range k.entries {
		k.dropLocked(key)
	}
}

// get returns a copy of a fresh result, and removes results of users other than owner.
// generation is for [cache.put].
func (k *cache) get(r *request, owner string) (result json.RawMessage, generation int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.setOwnerLocked(owner)
	key := cacheKey{r.method, string(r.params)}
	e := k.entries[key]
	switch {
	case e == nil:
		return nil, k.generation
	case !time.Now().Before(e.expires):
		k.dropLocked(key)
		return nil, k.generation
	}
	k.uses++
	e.used = k.uses
	return bytes.Clone(e.result), k.generation
}

// put stores a result, unless something was invalidated since generation. limit bounds the
// cache in bytes; the least recently used results are removed.
func (k *cache) put(r *request, result json.RawMessage, generation, limit int) {
	lifetime := jsonrpc.TTL(jsonrpc.Lookup(result, "ttlMs"))
	k.mu.Lock()
	defer k.mu.Unlock()
	if generation != k.generation {
		return
	}
	const overhead = 256 // about the bytes of an entry besides its texts
	key := cacheKey{r.method, string(r.params)}
	e := &cached{target: r.target, expires: time.Now().Add(lifetime), size: len(result) + len(r.params) + len(r.target) + overhead}
	k.dropLocked(key)
	if lifetime == 0 || e.size > limit {
		return
	}
	for k.bytes+e.size > limit || len(k.entries) >= maxCacheEntries {
		k.dropLocked(k.oldestLocked())
	}
	if k.entries == nil {
		k.entries = map[cacheKey]*cached{}
	}
	k.uses++
	e.used = k.uses
	e.result = bytes.Clone(result) // so that the surrounding message is freed
	k.entries[key] = e
	k.bytes += e.size
}

func (k *cache) oldestLocked() (oldest cacheKey) {
	least := k.uses + 1
	for key, e := range k.entries {
		if e.used < least {
			oldest, least = key, e.used
		}
	}
	return oldest
}

func (k *cache) dropLocked(key cacheKey) {
	e := k.entries[key]
	if e == nil {
		return
	}
	k.bytes -= e.size
	delete(k.entries, key)
	if len(k.entries) == 0 {
		k.entries = nil // a map does not shrink
	}
}

func (k *cache) forget(r *request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dropLocked(cacheKey{r.method, string(r.params)})
}

// drop removes the matching results. Requests in progress store none.
func (k *cache) drop(match func(cacheKey, *cached) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.generation++
	for key, e := range k.entries {
		if match(key, e) {
			k.dropLocked(key)
		}
	}
}

func (k *cache) clear() { k.drop(func(cacheKey, *cached) bool { return true }) }

func (k *cache) dropMethods(methods ...string) {
	k.drop(func(key cacheKey, _ *cached) bool { return slices.Contains(methods, key.method) })
}

// invalidate removes the results that a change affects. An updated resource may be part of a
// cached one: its URI then begins with that of the cached one.
func (k *cache) invalidate(change mcp.Change) {
	switch change.Kind {
	case mcp.ToolsChanged:
		k.dropMethods("tools/list")
	case mcp.PromptsChanged:
		k.dropMethods("prompts/list")
	case mcp.ResourcesChanged:
		k.dropMethods("resources/list", "resources/templates/list", "skills/list", "skills/get")
	case mcp.ResourceUpdated:
		k.drop(func(key cacheKey, e *cached) bool {
			return key.method == "resources/read" && strings.HasPrefix(change.URI, e.target)
		})
	case mcp.TaskUpdated: // tasks are not cached
	default: // mcp.Stale: the URI of the updated resource is too long to be kept
		k.dropMethods("resources/read")
	}
}
