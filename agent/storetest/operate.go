package storetest

import (
	"bytes"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

func exportImport(t *trial) {
	d, lease := t.begin(expired, opened("closed")...)
	t.append(lease, d, &ledger.Replied{Reply: run.Reply{Question: "closed", Action: run.ActionDecline, At: start}})
	for range 3 { // more than an import stores at once
		t.append(lease, d, ledgertest.Note("<"+strings.Repeat("x", 3<<20)))
	}
	t.append(lease, d, snapshot(d))
	t.append(lease, d, opened("a", "b")...)
	t.reply(d, yes("b"))
	t.move(one)
	t.wantLog(d, yes("b"))
	t.wantCurrent(d, yes("b"))
	t.wantSound()
	t.append(t.acquire(one, held), d, ledgertest.Note("after"))
	t.wantLog(d, yes("b"))
}

func (t *trial) move(key run.Key) {
	t.Helper()
	var out bytes.Buffer
	t.ok(record.Export(t.Context(), t.store, key, &out))
	t.ok(t.store.Delete(t.Context(), key))
	if got, err := record.Import(t.Context(), t.store, &out); err != nil || got != key {
		t.Fatalf("import: got %v, %v", got, err)
	}
}

func (t *trial) wantSound() {
	t.Helper()
	for key, err := range record.Verify(t.Context(), t.store, record.Query{AllTenants: true}) {
		t.Errorf("verify: got %v, %v", key, err)
	}
}

// prune checks that a pruned run loads, continues, and can be exported as before, with the
// replies to closed questions.
func prune(t *trial) {
	d, lease := t.begin(held, opened("closed")...)
	first := run.Reply{Question: "closed", Action: run.ActionDecline, At: start}
	t.reply(d, first)
	t.append(lease, d, &ledger.Replied{Reply: first}, ledgertest.Note("before"))
	t.wantPruned(0) // there is no snapshot
	t.append(lease, d, snapshot(d))
	t.append(lease, d, ledgertest.Note("after"))
	t.append(lease, d, opened("open")...)
	t.reply(d, yes("open"))
	t.wantPruned(0) // it is held
	t.ok(t.store.Release(t.Context(), lease))
	t.wantPruned(1)
	t.wantPruned(1) // it was pruned before
	d.Records = d.Records[d.State.Snapshot-1:]
	t.wantLog(d, yes("open"))
	t.wantCurrent(d, yes("open"))
	other := first
	other.Action = run.ActionCancel
	t.wantError("another answer to a closed question", t.store.Reply(t.Context(), one, []run.Reply{other}), record.ErrReplied)
	t.wantError("prune as another holder", t.store.Prune(t.Context(), lease), record.ErrConflict)

	t.move(one)
	t.wantLog(d, yes("open"))
	lease = t.acquire(one, held)
	t.append(lease, d, replied(yes("open")), ledgertest.Note("more"))
	later := ledgertest.Of(d.Records)
	t.append(lease, later, snapshot(later))
	t.append(lease, later, ledgertest.Note("last"))
	t.wantLog(later)
	t.wantCurrent(later)
	t.wantSound()
	t.ok(t.store.Release(t.Context(), lease))
	t.wantPruned(1)
	later.Records = later.Records[later.State.Snapshot-d.Records[0].Seq:]
	t.wantLog(later)
}

// wantPruned prunes all runs, and checks how many were pruned.
func (t *trial) wantPruned(want int) {
	t.Helper()
	if n, err := record.Prune(t.Context(), t.store, record.Query{AllTenants: true}); err != nil || n != want {
		t.Errorf("got %d runs that were pruned, %v, want %d", n, err, want)
	}
}
