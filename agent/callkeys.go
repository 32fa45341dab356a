package agent

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// callKeys makes the keys of idempotency of the calls of the model's next reply. A run that is restored from a
// backup and makes a call again gives it the same key, so that a server that honours keys knows it. Runs are told
// apart by tenant, id and the moment of their creation, and calls by the number of the reply, their place in it, their name
// and their arguments: a model that says something else after the restore asks for another call. The number of
// the record is not in the key, as a process that takes a run over adds records of its own.
func (r *recorder) callKeys(asked []run.Part) []string {
	var of []string
	var replies int
	r.read(func(s *ledger.State) {
		replies = s.Spent.Turns
		if r.above == nil {
			of = []string{"run", s.Tenant, s.ID, s.Created.UTC().Format(time.RFC3339Nano)}
		} else {
			of = []string{"call", r.above.state.Call(r.call).Key}
		}
	})
	text := lengthened(nil, of...)
	begins, all := len(text), make([]byte, 0, len(asked)*callKeySize)
	for i := range asked {
		text = lengthened(text[:begins], asked[i].Name, asked[i].Arguments)
		text = binary.AppendUvarint(binary.AppendUvarint(text, uint64(replies)), uint64(i))
		sum := sha256.Sum256(text)
		all = hex.AppendEncode(all, sum[:callKeySize/2])
	}
	keys, rest := make([]string, len(asked)), string(all)
	for i := range keys {
		keys[i], rest = rest[:callKeySize], rest[callKeySize:]
	}
	return keys
}

// callKeySize is the length of a key.
const callKeySize = 32

// lengthened appends texts, each behind its length.
func lengthened(to []byte, texts ...string) []byte {
	for _, t := range texts {
		to = append(binary.AppendUvarint(to, uint64(len(t))), t...)
	}
	return to
}
