package storetest

import (
	"bytes"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// prune checks that a pruned run loads, continues, and can be exported as before, with the
// replies to closed questions.
func prune(t *trial) {
	if _, ok := t.store.(record.Pruner); !ok {
		return
	}
	d := begin(one, opened("closed")...)
	lease := t.create(d, held)
	first := run.Reply{Question: "closed", Action: run.ActionDecline, At: start}
	t.reply(d, first)
	t.append(lease, d, &ledger.Replied{Reply: first}, said("before"))
	t.prunes(0) // there is no snapshot
	t.append(lease, d, d.snapshot())
	t.append(lease, d, said("after"))
	t.append(lease, d, opened("open")...)
	t.reply(d, yes("open"))
	t.prunes(0) // it is held
	t.ok(t.store.Release(t.Context(), lease))
	t.prunes(1)
	t.prunes(1) // it was pruned before
	d.records = d.records[d.state.Snapshot-1:]
	t.has(d, yes("open"))
	t.isCurrent(d, yes("open"))
	other := first
	other.Action = run.ActionCancel
	t.wants("another answer to a closed question", t.store.Reply(t.Context(), one, []run.Reply{other}), record.ErrReplied)
	t.wants("prune as another holder", t.store.(record.Pruner).Prune(t.Context(), lease), record.ErrConflict)

	var out bytes.Buffer
	t.ok(record.Export(t.Context(), t.store, one, &out))
	t.ok(t.store.Delete(t.Context(), one))
	if _, err := record.Import(t.Context(), t.store, &out); err != nil {
		t.Fatal(err)
	}
	t.has(d, yes("open"))
	lease = t.acquire(one, held)
	t.append(lease, d, replied(yes("open")), said("more"))
	later := &draft{state: must(ledger.StateOf(d.records)), records: d.records}
	t.append(lease, later, later.snapshot())
	t.append(lease, later, said("last"))
	t.has(later)
	t.isCurrent(later)
	for key, err := range record.Verify(t.Context(), t.store, record.Query{AllTenants: true}) {
		t.Errorf("verify: got %v, %v", key, err)
	}
	t.ok(t.store.Release(t.Context(), lease))
	t.prunes(1)
	later.records = later.records[later.state.Snapshot-d.records[0].Seq:]
	t.has(later)
}

func (t *trial) prunes(want int) {
	t.Helper()
	if n, err := record.Prune(t.Context(), t.store, record.Query{AllTenants: true}); err != nil || n != want {
		t.Errorf("got %d runs that were pruned, %v, want %d", n, err, want)
	}
}
