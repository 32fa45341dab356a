package sampling

import (
	"slices"
	"sync"

	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// recall has a memory for each server of what the model's host said beside tool
// calls: what it thought for one server is not for another to see.
type recall struct {
	mu       sync.Mutex
	memories map[recallKey]*chat.Memory
	order    []recallKey // the one that was used last comes last
}

// recallKey is the host's name for a server. One without such a name is known by
// its connection, since what it calls itself is its own choice.
type recallKey struct {
	server string
	client *mcpclient.Client
}

// maxServers bounds the memories. The one that was not used for longest goes.
const maxServers = 32

func (w *who) recallKey() recallKey {
	if w.label != "" {
		return recallKey{server: w.label}
	}
	return recallKey{client: w.origin.Client}
}

// of returns the memory of a server.
func (r *recall) of(w *who) *chat.Memory {
	key := w.recallKey()
	r.mu.Lock()
	defer r.mu.Unlock()
	m, known := r.memories[key]
	if known {
		i := slices.Index(r.order, key)
		r.order = append(slices.Delete(r.order, i, i+1), key)
		return m
	}
	if len(r.order) == maxServers {
		delete(r.memories, r.order[0])
		r.order = slices.Delete(r.order, 0, 1)
	}
	if r.memories == nil {
		r.memories = map[recallKey]*chat.Memory{}
	}
	m = chat.NewMemory()
	r.memories[key], r.order = m, append(r.order, key)
	return m
}
