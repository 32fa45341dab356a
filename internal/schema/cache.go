package schema

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"sync"
)

// Bounds of a [Cache]: whichever is reached first lets go of the schema that
// was not asked for the longest.
const (
	maxCached      = 4096
	maxCachedBytes = 64 << 20
)

// Cache compiles every schema once. It is keyed by the schema's bytes, so a
// server that changes a schema gets a new one, and two servers with the same
// schema share one. The zero value is ready for use, also concurrently.
type Cache struct {
	mu      sync.Mutex
	entries map[[sha256.Size]byte]*list.Element // nil before the first
	recent  *list.List                          // of *cached, the latest first
	bytes   int
}

type cached struct {
	key     [sha256.Size]byte
	size    int
	compile func() (*Schema, error)
}

// Compile is [Compile] with a memory, also of schemas that do not compile.
func (c *Cache) Compile(raw []byte) (*Schema, error) {
	if len(raw) > MaxSize {
		return Compile(raw) // which refuses it
	}
	return c.entry(raw).compile()
}

func (c *Cache) entry(raw []byte) *cached {
	key := sha256.Sum256(raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	if element := c.entries[key]; element != nil {
		c.recent.MoveToFront(element)
		return element.Value.(*cached)
	}
	if c.entries == nil {
		c.entries, c.recent = map[[sha256.Size]byte]*list.Element{}, list.New()
	}
	raw = bytes.Clone(raw)
	e := &cached{key: key, size: len(raw), compile: sync.OnceValues(func() (*Schema, error) { return Compile(raw) })}
	c.entries[key] = c.recent.PushFront(e)
	c.bytes += e.size
	for c.recent.Len() > maxCached || (c.bytes > maxCachedBytes && c.recent.Len() > 1) {
		c.forgetLocked(c.recent.Back())
	}
	return e
}

func (c *Cache) forgetLocked(element *list.Element) {
	e := c.recent.Remove(element).(*cached)
	delete(c.entries, e.key)
	c.bytes -= e.size
}
