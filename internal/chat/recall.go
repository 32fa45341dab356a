package chat

import (
	"encoding/json"
	"sync"
)

// What a host says beside a tool call and wants back with it: Gemini its thought
// signature, DeepSeek its reasoning. Neither MCP nor langchaingo has a place
// for these, so the client keeps them by the id of the call.
type recalled struct {
	extra     json.RawMessage
	reasoning string
}

const (
	maxRecalled     = 512      // calls; the oldest are forgotten
	maxRecalledSize = 64 << 10 // bytes for one call; larger ones are not kept
)

// isExtra says whether JSON can be what a host says beside a call: an object of
// a size that is kept.
func isExtra(raw json.RawMessage) bool {
	return len(raw) > 0 && len(raw) <= maxRecalledSize && raw[0] == '{' && json.Valid(raw)
}

// recall remembers what belongs to the latest tool calls.
type recall struct {
	mu    sync.Mutex
	byID  map[string]recalled
	order []string // ids, a ring
	next  int      // in order
}

func newRecall() *recall { return &recall{byID: map[string]recalled{}} }

func (r *recall) get(id string) recalled {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id]
}

func (r *recall) put(id string, v recalled) {
	if v.extra == nil && v.reasoning == "" || len(v.extra)+len(v.reasoning) > maxRecalledSize {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.byID[id]; !known {
		if len(r.order) < maxRecalled {
			r.order = append(r.order, id)
		} else {
			delete(r.byID, r.order[r.next])
			r.order[r.next] = id
			r.next = (r.next + 1) % maxRecalled
		}
	}
	r.byID[id] = v
}
