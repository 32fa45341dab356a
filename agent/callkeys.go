package agent

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// callKeys returns the idempotency keys for the calls of the model's next reply. If a run is
// restored from a backup and repeats a call, the call gets the same key, so that a server that
// honours keys recognizes it.
//
// A key depends on the run (its tenant, id and creation time), the number of the reply, and the
// call's place in it, name and arguments: if the model says something else after the restore,
// that is another call. It does not depend on the number of the record, because a process that
// takes over a run adds records.
func (r *recorder) callKeys(asked []run.Part) []string {
	var subject []string
	var replies int
	r.read(func(s *ledger.State) {
		replies = s.Spent.Turns
		if r.parent == nil {
			subject = []string{"run", s.Tenant, s.ID, s.Created.UTC().Format(time.RFC3339Nano)}
		} else {
			subject = []string{"call", r.parent.state.Call(r.call).Key}
		}
	})
	text := appendPrefixed(nil, subject...)
	prefix := len(text)
	keys := make([]string, len(asked))
	for i := range asked {
		text = appendPrefixed(text[:prefix], asked[i].Name, asked[i].Arguments)
		text = binary.AppendUvarint(binary.AppendUvarint(text, uint64(replies)), uint64(i))
		sum := sha256.Sum256(text)
		keys[i] = hex.EncodeToString(sum[:16])
	}
	return keys
}

// appendPrefixed appends texts, each preceded by its length.
func appendPrefixed(to []byte, texts ...string) []byte {
	for _, t := range texts {
		to = append(binary.AppendUvarint(to, uint64(len(t))), t...)
	}
	return to
}
