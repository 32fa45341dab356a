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

// EraCache remembers for [Protocol.EraCache] which revisions servers were found to
// speak, so that the next client begins with the right era: a legacy server is
// not asked server/discover first, which some take long to refuse, and others die
// of. A server that turns out to be another one is asked anew.
//
// The zero value is ready, and may be shared by any number of clients. As JSON it
// may be kept for the next run of a program; what of that cannot be used is left
// out when it is read. It names no server: a server is known by a digest of its
// URL, or of its command line and directory. Any [Transport] takes part that is a
// [transport.Identifier].
//
// An entry holds for 24 h, then its server is asked again: it may have learned
// the modern era. Of more than 1,024 the oldest are forgotten.
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

// holds reports whether an entry is young enough. One from the future is of a
// clock that was wrong.
func (e knownEra) holds(now time.Time) bool {
	age := now.Sub(e.Since)
	return age >= 0 && age < eraLife && (isLegacy(e.Revision) || isModern(e.Revision))
}

// find returns the revision of a server, "" when none is known.
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

// keep remembers the revision of a server. What is known already is not made
// younger by finding it true.
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

// MarshalJSON writes what is known, for [EraCache.UnmarshalJSON].
func (c *EraCache) MarshalJSON() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		return []byte("{}"), nil
	}
	return jsonrpc.Marshal(c.known)
}

// UnmarshalJSON replaces what is known by what [EraCache.MarshalJSON] wrote.
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

// identity is the key of the server that a transport reaches, "" when that
// cannot be told. It gives nothing away of what may be secret.
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
