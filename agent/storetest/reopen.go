package storetest

import (
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// Reopen tests that a store has everything after it was closed and opened again. Each call of
// open opens the same store, and close closes it.
func Reopen(t *testing.T, open func(t *testing.T) (store record.Store, close func())) {
	s, closeStore := open(t)
	first := &trial{T: t, store: s}
	d, over, gone := begin(one, opened("a", "b")...), begin(run.Key{ID: "over"}, &ledger.Ended{Status: run.StatusFinished}), begin(run.Key{ID: "gone"})
	first.create(d, expired)
	first.create(over, held)
	first.create(gone, held)
	lease := first.acquire(one, held)
	first.append(lease, d, ledgertest.Note("1"))
	first.reply(d, yes("a"), yes("b"))
	first.append(lease, d, replied(yes("a")))
	first.append(lease, d, &ledger.Suspended{})
	first.wantError("delete", s.Delete(t.Context(), draftKey(gone)), nil)
	before := first.load(one).Head
	closeStore()

	s, closeStore = open(t)
	defer closeStore()
	second := &trial{T: t, store: s}
	second.wantLog(d, yes("b"))
	second.wantLog(over)
	second.wantNone(draftKey(gone))
	if got := second.load(one).Head; got.Epoch != lease.Epoch || !got.HeldUntil.Equal(before.HeldUntil) {
		t.Errorf("got epoch %d, held until %s, want %d, %s", got.Epoch, got.HeldUntil, lease.Epoch, before.HeldUntil)
	}
	_, err := s.Acquire(t.Context(), one, record.Holder{TTL: held})
	second.wantError("acquire what is held", err, record.ErrHeld)
	second.wantList("due", record.Query{AllTenants: true, DueAt: time.Now().Add(2 * held)}, "one")
	second.wantError("another answer", s.Reply(t.Context(), one, []run.Reply{no("a")}), record.ErrReplied)
	second.append(lease, d, &ledger.Woken{}, replied(yes("b")))
	second.wantLog(d)
}
