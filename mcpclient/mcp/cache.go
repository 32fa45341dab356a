package mcp

import (
	"encoding/json"
	"time"
)

// CacheHint is what a modern server says about how long a result holds. The
// zero value says nothing: the result may be stale at once.
type CacheHint struct {
	TTL   time.Duration // since the result was received, at most 24 h
	Scope CacheScope
}

// CacheScope says who may be given a result again.
type CacheScope string

// The scopes. Everything that is not public is private, an absent scope too.
const (
	CachePublic  CacheScope = "public"  // anyone
	CachePrivate CacheScope = "private" // only who asked, with the same authorization
)

// ReadCacheHint reads the members ttlMs and cacheScope of a result. What is not valid
// counts as absent.
func ReadCacheHint(ttl, scope json.RawMessage) CacheHint {
	h := CacheHint{}
	var ms float64
	if len(ttl) > 0 && json.Unmarshal(ttl, &ms) == nil && ms > 0 {
		h.TTL = time.Duration(min(ms, float64(maxTTL/time.Millisecond)) * float64(time.Millisecond))
	}
	switch {
	case string(scope) == `"public"`:
		h.Scope = CachePublic
	case h.TTL > 0:
		h.Scope = CachePrivate
	}
	return h
}

const maxTTL = 24 * time.Hour
