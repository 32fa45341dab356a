package mcpclient

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
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// EraCache remembers the revisions of servers for [Protocol.EraCache], so that
// the next client begins with the right era. It sends no server/discover to a
// legacy server: some take long to refuse it, others die of it. If a server has
// changed, the client probes again.
//
// The zero value is ready, and may be shared by any number of clients. Its JSON
// may be kept for the next run of a program; reading skips unusable entries. It
// names no server: the key is a digest of the server's URL, or of its command
// line and directory. Any [Transport] that is a [transport.Identifier] takes
// part.
//
// An entry holds for 24 h, then the client probes again: the server may have
// learned the modern era. Beyond 1,024 entries the oldest are dropped.
type EraCache struct {
	mu    sync.Mutex
	known map[string]knownEra
}

type knownEra struct {
	Revision string    `json:"revision"`
	Since    time.Time `json:"since"`
}

const (
	eraLife = 24 * time.Hour
	maxEras = 1024
)

// holds reports whether an entry is young enough. An entry from the future
// comes from a wrong clock.
func (e knownEra) holds(now time.Time) bool {
	age := now.Sub(e.Since)
	return age >= 0 && age < eraLife && (isLegacy(e.Revision) || isModern(e.Revision))
}

// find returns the revision of a server, "" if unknown.
func (c *EraCache) find(t Transport) string {
	if c == nil {
		return ""
	}
	key := identity(t)
	if key == "" {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.known[key]; found.holds(time.Now()) {
		return found.Revision
	}
	return ""
}

// keep remembers the revision of a server. It does not renew the age of a known
// revision.
func (c *EraCache) keep(t Transport, revision string) {
	if c == nil {
		return
	}
	key := identity(t)
	if key == "" {
		return
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.known[key]; found.Revision == revision && found.holds(now) {
		return
	}
	if c.known == nil {
		c.known = map[string]knownEra{}
	}
	c.known[key] = knownEra{revision, now}
	c.trimLocked()
}

func (c *EraCache) trimLocked() {
	if len(c.known) <= maxEras {
		return
	}
	oldest := slices.SortedFunc(maps.Keys(c.known), func(a, b string) int {
		return c.known[a].Since.Compare(c.known[b].Since)
	})
	for _, key := range oldest[:len(oldest)-maxEras] {
		delete(c.known, key)
	}
}

// Clear forgets all servers.
func (c *EraCache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = nil
}

// MarshalJSON writes the entries, for [EraCache.UnmarshalJSON].
func (c *EraCache) MarshalJSON() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		return []byte("{}"), nil
	}
	return jsonrpc.Marshal(c.known)
}

// UnmarshalJSON replaces the entries by the result of [EraCache.MarshalJSON].
func (c *EraCache) UnmarshalJSON(data []byte) error {
	var read map[string]knownEra
	if err := json.Unmarshal(data, &read); err != nil {
		return fmt.Errorf("era cache: %w", err)
	}
	now := time.Now()
	maps.DeleteFunc(read, func(key string, found knownEra) bool { return len(key) != identitySize || !found.holds(now) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = read
	c.trimLocked()
	return nil
}

const identitySize = 32 // digits of the key of a server

// identity is the key of a transport's server, "" if unknown. It does not
// reveal secrets.
func identity(t Transport) string {
	server, ok := t.(transport.Identifier)
	if !ok {
		return ""
	}
	text := server.Identity()
	if text == "" {
		return ""
	}
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:])[:identitySize]
}
