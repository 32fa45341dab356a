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
	d := begin(one, opened("closed")...)
	lease := t.create(d, expired)
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
