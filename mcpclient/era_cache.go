package mcpclient

import (
	"github.com/mcpchain/mcpchain/mcpclient/internal/eracache"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
)

// EraCache remembers the revisions of servers for [Protocol.EraCache], so that the next client
// starts with the right era. A legacy server then gets no server/discover: some take long to
// refuse it, others crash. If a server has changed, the client probes again.
//
// The zero value is ready, and clients may share it. It can be stored as JSON; decoding skips
// unusable entries. It contains no names of servers: the key is a digest of the server's URL,
// or of its command line and directory. It works with any [Transport] that has a method
// Identity() string.
//
// An entry expires after 24 h, because the server may have been updated to the modern era.
// Beyond 1,024 entries the oldest are removed.
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

// Remember sets the revision of a server, if a host has found out by other means, for example
// that its tools do not work in a newer one.
func (c *EraCache) Remember(t Transport, revision string) {
	if isLegacy(revision) || isModern(revision) {
		c.keep(t, revision)
	}
}

// MarshalJSON implements [json.Marshaler].
func (c *EraCache) MarshalJSON() ([]byte, error) { return c.entries.MarshalJSON() }

// UnmarshalJSON replaces the entries. It implements [json.Unmarshaler].
func (c *EraCache) UnmarshalJSON(data []byte) error {
	return c.entries.Read(data, func(revision string) bool { return isLegacy(revision) || isModern(revision) })
}

// identity returns what distinguishes the server of a transport from others, "" if unknown.
func identity(t Transport) string {
	if server, ok := t.(wire.Identifier); ok {
		return server.Identity()
	}
	return ""
}
