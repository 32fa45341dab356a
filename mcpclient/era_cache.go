package mcpclient

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
)

const (
	eraLife = 24 * time.Hour // how long an entry is valid
	maxEras = 1024           // entries; beyond them the oldest is removed
)

// EraCache remembers the revisions of servers for [Protocol.EraCache], so that the next client
// starts with the right era. A legacy server then gets no server/discover: some take long to
// refuse it, others crash. If a server has changed, the client probes again.
//
// The zero value is ready, clients may share it, and it must not be copied. It works with any
// [Transport] that has a method Identity() string.
//
// An entry expires after 24 h, because the server may have been updated to the modern era.
// Beyond 1,024 entries the oldest is removed.
type EraCache struct {
	mu    sync.Mutex
	known map[string]knownEra // by the identity of the server
}

type knownEra struct {
	revision string
	since    time.Time
}

func (e knownEra) isFresh() bool { return time.Since(e.since) < eraLife }

// find returns the revision of a server, "" if it is unknown or its entry has expired. c may be nil.
func (c *EraCache) find(t Transport) string {
	if c == nil {
		return ""
	}
	server := identityOf(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.known[server]; found.isFresh() {
		return found.revision
	}
	return ""
}

// keep remembers the revision of a server, unless c is nil or the transport does not identify the
// server. It does not reset the age of a known revision.
func (c *EraCache) keep(t Transport, revision string) {
	if c == nil {
		return
	}
	server := identityOf(t)
	if server == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.known[server]; found.revision == revision && found.isFresh() {
		return
	}
	if c.known == nil {
		c.known = map[string]knownEra{}
	}
	c.known[server] = knownEra{revision, time.Now()}
	if len(c.known) > maxEras {
		delete(c.known, slices.MinFunc(slices.Collect(maps.Keys(c.known)), func(a, b string) int {
			return c.known[a].since.Compare(c.known[b].since)
		}))
	}
}

// Remember sets the revision of a server, if a host has found out by other means, for example
// that its tools do not work in a newer one. A revision that the client does not speak is ignored.
func (c *EraCache) Remember(t Transport, revision string) {
	if isLegacy(revision) || isModern(revision) {
		c.keep(t, revision)
	}
}

// identityOf returns what distinguishes the server of a transport from others, which may contain
// secrets. It is "" if the transport does not know.
func identityOf(t Transport) string {
	if server, ok := t.(wire.Identifier); ok {
		return server.Identity()
	}
	return ""
}
