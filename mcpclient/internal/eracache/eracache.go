// Package eracache remembers the protocol revisions of servers for a day.
package eracache

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

const (
	life       = 24 * time.Hour
	maxEntries = 1024 // beyond them the oldest are dropped
	keySize    = 32   // hexadecimal digits
)

// Cache has an entry for each server. The zero value is ready; it is for concurrent use.
type Cache struct {
	mu    sync.Mutex
	known map[string]entry
}

type entry struct {
	Revision string    `json:"revision"`
	Since    time.Time `json:"since"`
}

// holds reports whether an entry is young enough. An entry from the future
// comes from a wrong clock.
func (e entry) holds(now time.Time) bool {
	age := now.Sub(e.Since)
	return age >= 0 && age < life
}

// Find returns the revision of a server, by its identity; "" if unknown.
func (c *Cache) Find(server string) string {
	if server == "" {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.known[key(server)]; found.holds(time.Now()) {
		return found.Revision
	}
	return ""
}

// Keep remembers the revision of a server, unless its identity is "". It does not renew
// the age of a known revision.
func (c *Cache) Keep(server, revision string) {
	if server == "" {
		return
	}
	now, key := time.Now(), key(server)
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.known[key]; found.Revision == revision && found.holds(now) {
		return
	}
	if c.known == nil {
		c.known = map[string]entry{}
	}
	c.known[key] = entry{revision, now}
	c.trimLocked()
}

func (c *Cache) trimLocked() {
	if len(c.known) <= maxEntries {
		return
	}
	oldest := slices.SortedFunc(maps.Keys(c.known), func(a, b string) int {
		return c.known[a].Since.Compare(c.known[b].Since)
	})
	for _, key := range oldest[:len(oldest)-maxEntries] {
		delete(c.known, key)
	}
}

// MarshalJSON writes the entries. It names no server.
func (c *Cache) MarshalJSON() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		return []byte("{}"), nil
	}
	return jsonrpc.Marshal(c.known)
}

// Read replaces the entries by what MarshalJSON wrote, without the entries that are too old or
// whose revision is not usable.
func (c *Cache) Read(data []byte, usable func(revision string) bool) error {
	var read map[string]entry
	if err := json.Unmarshal(data, &read); err != nil {
		return fmt.Errorf("era cache: %w", err)
	}
	now := time.Now()
	maps.DeleteFunc(read, func(key string, found entry) bool {
		return len(key) != keySize || !found.holds(now) || !usable(found.Revision)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = read
	c.trimLocked()
	return nil
}

// key is a digest of an identity, which may have secrets.
func key(server string) string {
	digest := sha256.Sum256([]byte(server))
	return hex.EncodeToString(digest[:])[:keySize]
}
