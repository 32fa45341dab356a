package mcpclient

import (
	"github.com/mcpchain/mcpchain/mcpclient/internal/eracache"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
)

// EraCache remembers the revisions of servers for [Protocol.EraCache], so that
// the next client begins with the right era. It sends no server/discover to a
// legacy server: some take long to refuse it, others die of it. If a server has
// changed, the client probes again.
//
// The zero value is ready, and may be shared by any number of clients. Its JSON
// may be kept for the next run of a program; reading skips unusable entries. It
// names no server: the key is a digest of the server's URL, or of its command
// line and directory. Any [Transport] with a method Identity() string takes
// part.
//
// An entry holds for 24 h, then the client probes again: the server may have
// learned the modern era. Beyond 1,024 entries the oldest are dropped.
type EraCache struct{ entries eracache.Cache }

// find returns the revision of a server, "" if unknown.
func (c *EraCache) find(t Transport) string {
	if c == nil {
		return ""
	}
	return c.entries.Find(identity(t))
}

// keep remembers the revision of a server.
func (c *EraCache) keep(t Transport, revision string) {
	if c != nil {
		c.entries.Keep(identity(t), revision)
	}
}

// Remember keeps the revision of a server that a host has found out by other means: its tools work
// in no newer one, for instance.
func (c *EraCache) Remember(t Transport, revision string) {
	if isLegacy(revision) || isModern(revision) {
		c.keep(t, revision)
	}
}

// MarshalJSON writes the entries, for [EraCache.UnmarshalJSON].
func (c *EraCache) MarshalJSON() ([]byte, error) { return c.entries.MarshalJSON() }

// UnmarshalJSON replaces the entries by the result of [EraCache.MarshalJSON].
func (c *EraCache) UnmarshalJSON(data []byte) error {
	return c.entries.Read(data, func(revision string) bool { return isLegacy(revision) || isModern(revision) })
}

// identity is what tells a transport's server from others, "" if unknown.
func identity(t Transport) string {
	if server, ok := t.(wire.Identifier); ok {
		return server.Identity()
	}
	return ""
}
