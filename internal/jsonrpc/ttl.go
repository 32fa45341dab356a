package jsonrpc

import (
	"encoding/json"
	"time"
)

// TTL reads the member ttlMs of a result, the time for which it holds. What is not valid counts as absent.
func TTL(ttl json.RawMessage) time.Duration {
	var ms float64
	if len(ttl) == 0 || json.Unmarshal(ttl, &ms) != nil || !(ms > 0) {
		return 0
	}
	return time.Duration(min(ms, float64(maxTTL/time.Millisecond)) * float64(time.Millisecond))
}

const maxTTL = 24 * time.Hour
