package jsonrpc

import (
	"encoding/json"
	"time"
)

// maxTTL bounds the lifetime of a result.
const maxTTL = 24 * time.Hour

// TTL reads the member ttlMs of a result: for how long it may be cached, at most 24 h. It is 0 if
// the member is absent or not a positive number.
func TTL(ttl json.RawMessage) time.Duration {
	var ms float64
	if len(ttl) == 0 || json.Unmarshal(ttl, &ms) != nil || !(ms > 0) {
		return 0
	}
	return time.Duration(min(ms, float64(maxTTL/time.Millisecond)) * float64(time.Millisecond))
}
