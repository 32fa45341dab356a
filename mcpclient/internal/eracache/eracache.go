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
	life       = 24 * time.Hour // of an entry
	maxEntries = 1024           // beyond them the oldest are removed
	keySize    = 32             // hexadecimal digits
)

// Cache has an entry for each server. The zero value is ready. All methods may be called concurrently.
type Cache struct {
	mu    sync.Mutex
	known map[string]entry
}

type entry struct {
	Revision string    `json:"revision"`
	Since    time.Time `json:"since"`
}

// holds reports whether an entry is fresh. An entry from the future is due to a wrong clock.
func (e entry) holds(now time.Time) bool {
	age := now.Sub(e.Since)
	return age >= 0 && age < life
}

// Find returns the revision of a server by its identity, or "" if there is no fresh entry.
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

// Keep stores the revision of a server, unless its identity is "". It does not reset the age of
// a known revision.
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

// trimLocked removes the oldest entries beyond the bound.
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

// MarshalJSON returns the entries. It contains no names of servers.
func (c *Cache) MarshalJSON() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		return []byte("{}"), nil
	}
	return jsonrpc.Marshal(c.known)
}

// Read replaces the entries by those of MarshalJSON that are fresh and have a usable revision.
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

// key returns a digest of an identity, which may contain secrets.
func key(server string) string {
	digest := sha256.Sum256([]byte(server))
	return hex.EncodeToString(digest[:])[:keySize]
}
