package schema

import (
	"bytes"
	"crypto/sha256"
	"sync"
)

// Bounds of a [Cache].
const (
	maxCached      = 4096
	maxCachedBytes = 64 << 20
)

// Cache compiles every schema once. The key is the schema's bytes, so a changed schema is compiled
// again, and two servers with the same schema share it. A full cache is emptied. The zero value is
// ready for concurrent use.
type Cache struct {
	mu      sync.Mutex
	compile map[[sha256.Size]byte]func() (*Schema, error)
	bytes   int
}

// Compile is [Compile] with a memory. It remembers invalid schemas, too.
func (c *Cache) Compile(raw []byte) (*Schema, error) {
	if len(raw) > MaxSize {
		return Compile(raw) // refuses it
	}
	return c.entry(raw)()
}

// entry returns the entry of a schema, a new one if there is none.
func (c *Cache) entry(raw []byte) func() (*Schema, error) {
	key := sha256.Sum256(raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.compile[key]; known != nil {
		return known
	}
	if c.bytes += len(raw); c.compile == nil || len(c.compile) >= maxCached || c.bytes > maxCachedBytes {
		c.compile, c.bytes = map[[sha256.Size]byte]func() (*Schema, error){}, len(raw)
	}
	raw = bytes.Clone(raw)
	c.compile[key] = sync.OnceValues(func() (*Schema, error) { return Compile(raw) })
	return c.compile[key]
}
