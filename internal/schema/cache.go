package schema

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"sync"
)

// Bounds of a [Cache]. At either bound the least recently used schema is dropped.
const (
	maxCached      = 4096
	maxCachedBytes = 64 << 20
)

// Cache compiles every schema once. The key is the schema's bytes, so a changed schema is compiled
// again, and two servers with the same schema share it. The zero value is ready for concurrent use.
type Cache struct {
	mu      sync.Mutex
	entries map[[sha256.Size]byte]*list.Element // nil before the first schema
	recent  *list.List                          // values are *cacheEntry, most recently used first
	bytes   int
}

type cacheEntry struct {
	key     [sha256.Size]byte
	size    int
	compile func() (*Schema, error)
}

// Compile is [Compile] with a memory. It remembers invalid schemas, too.
func (c *Cache) Compile(raw []byte) (*Schema, error) {
	if len(raw) > MaxSize {
		return Compile(raw) // refuses it
	}
	return c.entry(raw).compile()
}

// entry returns the entry of a schema, a new one if there is none.
func (c *Cache) entry(raw []byte) *cacheEntry {
	key := sha256.Sum256(raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	if element := c.entries[key]; element != nil {
		c.recent.MoveToFront(element)
		return element.Value.(*cacheEntry)
	}
	if c.entries == nil {
		c.entries, c.recent = map[[sha256.Size]byte]*list.Element{}, list.New()
	}
	raw = bytes.Clone(raw)
	e := &cacheEntry{key: key, size: len(raw), compile: sync.OnceValues(func() (*Schema, error) { return Compile(raw) })}
	c.entries[key] = c.recent.PushFront(e)
	c.bytes += e.size
	for c.recent.Len() > maxCached || (c.bytes > maxCachedBytes && c.recent.Len() > 1) {
		c.forgetLocked(c.recent.Back())
	}
	return e
}

func (c *Cache) forgetLocked(element *list.Element) {
	e := c.recent.Remove(element).(*cacheEntry)
	delete(c.entries, e.key)
	c.bytes -= e.size
}
