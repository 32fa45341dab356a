package sampling

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/mcpchain/mcpchain/internal/chat"
)

// hostMemories keeps a memory for each server, with the data that the model's provider wants back with tool calls. So no
// server can get data of another server's requests, if each has a name or a connection that is known.
type hostMemories struct {
	mu  sync.Mutex
	all []serverMemory // least recently used first
}

type serverMemory struct {
	key    memoryKey
	memory *chat.Memory
}

// memoryKey identifies a server by the host's name. Without one it is the connection,
// because the server chooses its own name freely.
type memoryKey struct {
	server  string
	session any
}

// maxServers bounds the memories. The least recently used memory is dropped.
const maxServers = 32

func (q *requester) memoryKey() memoryKey {
	if q.label != "" {
		return memoryKey{server: q.label}
	}
	return memoryKey{session: q.origin.Session}
}

// memory returns the memory of a server.
func (h *hostMemories) memory(q *requester) *chat.Memory {
	key := q.memoryKey()
	h.mu.Lock()
	defer h.mu.Unlock()
	m := serverMemory{key, nil}
	if i := slices.IndexFunc(h.all, func(m serverMemory) bool { return m.key == key }); i >= 0 {
		m = h.all[i]
		h.all = slices.Delete(h.all, i, i+1)
	} else {
		m.memory = chat.NewMemory()
		h.all = slices.Delete(h.all, 0, max(0, len(h.all)+1-maxServers))
	}
	h.all = append(h.all, m)
	return m.memory
}

// extraKey is the key in a tool use's _meta for data that the model's provider wants back with the call. Servers "SHOULD
// preserve this field in tool use blocks in message history"; if a server does not, the memory has the data.
const extraKey = "io.github.mcpchain/host-extra"

// withHostExtra returns the _meta of a tool use with the host's data, nil for none.
func withHostExtra(extra json.RawMessage) json.RawMessage {
	if extra == nil {
		return nil
	}
	return encodeJSON(map[string]json.RawMessage{extraKey: extra})
}

// hostExtra returns the host's data of a tool use, nil if its _meta has none or is no object.
func hostExtra(meta json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(meta, &m) != nil {
		return nil
	}
	return m[extraKey]
}
