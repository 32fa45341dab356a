package agent

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
)

// callKeys makes the keys of idempotency of the calls of the model's next reply. A run that is restored from a
// backup and makes a call again gives it the same key, so that a server that honours keys knows it. Runs are told
// apart by tenant, id and the moment of their creation, and calls by the number of the reply, their place in it, their name
// and their arguments: a model that says something else after the restore asks for another call. The number of
// the record is not in the key, as a process that takes a run over adds records of its own.
func (r *recorder) callKeys(asked []run.Part) []string {
	var of []string
	var replies int
	r.read(func(s *run.State) {
		replies = s.Spent.Turns
		if r.above == nil {
			of = []string{"run", s.Tenant, s.ID, s.Created.UTC().Format(time.RFC3339Nano)}
		} else {
			of = []string{"call", r.above.state.Call(r.call).Key}
		}
	})
	keys := make([]string, len(asked))
	var text []byte
	for i, p := range asked {
		text = text[:0]
		for _, part := range append(of, p.Name, p.Arguments) {
			text = append(binary.AppendUvarint(text, uint64(len(part))), part...)
		}
		text = binary.AppendUvarint(binary.AppendUvarint(text, uint64(replies)), uint64(i))
		sum := sha256.Sum256(text)
		keys[i] = hex.EncodeToString(sum[:16])
	}
	return keys
}
