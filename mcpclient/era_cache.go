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
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
)

const (
	eraLife     = 24 * time.Hour // how long an entry is valid
	maxEras     = 1024           // entries; beyond them the oldest are removed
	eraKeyChars = 32             // hexadecimal digits
)

// EraCache remembers the revisions of servers for [Protocol.EraCache], so that the next client
// starts with the right era. A legacy server then gets no server/discover: some take long to
// refuse it, others crash. If a server has changed, the client probes again.
//
// The zero value is ready, clients may share it, and it must not be copied. It can be stored as
// JSON; decoding skips unusable entries. It contains no names of servers: the key is a digest of
// the server's URL, or of its command line and directory. It works with any [Transport] that has a
// method Identity() string.
//
// An entry expires after 24 h, because the server may have been updated to the modern era.
// Beyond 1,024 entries the oldest are removed.
type EraCache struct {
	mu    sync.Mutex
	known map[string]knownEra // by eraKey
}

// knownEra is what is remembered of a server. It is stored.
type knownEra struct {
	Revision string    `json:"revision"`
	Since    time.Time `json:"since"`
}

// holds reports whether an entry is fresh. An entry from the future is due to a wrong clock.
func (e knownEra) holds(now time.Time) bool {
	age := now.Sub(e.Since)
	return age >= 0 && age < eraLife
}

// find returns the revision of a server, "" if it is unknown or its entry has expired. c may be
// nil.
func (c *EraCache) find(t Transport) string {
	if c == nil {
		return ""
	}
	key := eraKey(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.known[key]; found.holds(time.Now()) {
		return found.Revision
	}
	return ""
}

// keep remembers the revision of a server, unless c is nil or the transport does not identify the
// server. It does not reset the age of a known revision.
func (c *EraCache) keep(t Transport, revision string) {
	if c == nil {
		return
	}
	key := eraKey(t)
	now := time.Now()
	if key == "" {
		return
	}
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

// trimLocked removes the oldest entries beyond the bound.
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

// Remember sets the revision of a server, if a host has found out by other means, for example
// that its tools do not work in a newer one. A revision that the client does not speak is ignored.
func (c *EraCache) Remember(t Transport, revision string) {
	if isLegacy(revision) || isModern(revision) {
		c.keep(t, revision)
	}
}

// MarshalJSON implements [json.Marshaler].
func (c *EraCache) MarshalJSON() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		return []byte("{}"), nil
	}
	return jsonrpc.Marshal(c.known)
}

// UnmarshalJSON replaces the entries. It implements [json.Unmarshaler].
func (c *EraCache) UnmarshalJSON(data []byte) error {
	var read map[string]knownEra
	if err := json.Unmarshal(data, &read); err != nil {
		return fmt.Errorf("era cache: %w", err)
	}
	now := time.Now()
	maps.DeleteFunc(read, func(key string, found knownEra) bool {
		return len(key) != eraKeyChars || !found.holds(now) || !isLegacy(found.Revision) && !isModern(found.Revision)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = read
	c.trimLocked()
	return nil
}

// eraKey returns a digest of what distinguishes the server of a transport from others, which may
// contain secrets. It is "" if the transport does not know.
func eraKey(t Transport) string {
	server, ok := t.(wire.Identifier)
	if !ok {
		return ""
	}
	identity := server.Identity()
	if identity == "" {
		return ""
	}
	digest := sha256.Sum256([]byte(identity))
	return hex.EncodeToString(digest[:])[:eraKeyChars]
}
