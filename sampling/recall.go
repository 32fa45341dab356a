package sampling

import (
	"slices"
	"sync"

	"github.com/mcpchain/mcpchain/internal/chat"
)

// recall keeps a memory for each server, with the data that the model's host wants back with tool
// calls. So no server can get data of another server's requests.
type recall struct {
	mu       sync.Mutex
	memories map[recallKey]*chat.Memory
	order    []recallKey // least recently used first
}

// recallKey identifies a server by the host's name. Without one it is the connection,
// because the server chooses its own name freely.
type recallKey struct {
	server  string
	session any
}

// maxServers bounds the memories. The least recently used memory is dropped.
const maxServers = 32

func (w *who) recallKey() recallKey {
	if w.label != "" {
		return recallKey{server: w.label}
	}
	return recallKey{session: w.origin.Session}
}

// memory returns the memory of a server.
func (r *recall) memory(w *who) *chat.Memory {
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
