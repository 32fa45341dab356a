package storetest

import (
	"bytes"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

func loadCurrent(t *trial) {
	d := begin(one, ledgertest.Note("first"))
	lease := t.create(d, held)
	t.wantCurrent(d)
	t.append(lease, d, ledgertest.Note("second"), ledgertest.Note("third"))
	t.wantCurrent(d)
	t.append(lease, d, ledgertest.Note("before"), snapshotAfter(d, ledgertest.Note("before")), ledgertest.Note("after"))
	t.wantCurrent(d)
	t.append(lease, d, ledgertest.Note("more"))
	t.wantCurrent(d)
	t.append(lease, d, snapshot(d))
	t.wantCurrent(d)
	t.wantLog(d)
	t.wantError("a run that is not there", errorOf(t.store.LoadCurrent(t.Context(), run.Key{ID: "nobody"})), record.ErrNotFound)
}

// loadCurrentReplies loads replies from before and after a snapshot.
func loadCurrentReplies(t *trial) {
	d := begin(one, opened("closed")...)
	lease := t.create(d, held)
	first := run.Reply{Question: "closed", Action: run.ActionDecline, At: start}
	t.reply(d, first)
	t.append(lease, d, &ledger.Replied{Reply: first})
	t.append(lease, d, snapshot(d))
	t.append(lease, d, opened("open", "other")...)
	second := run.Reply{Question: "open", Action: run.ActionDecline, At: start}
	t.reply(d, second)
	t.wantCurrent(d, second)
	t.wantLog(d, second)
	t.reply(d, first, second) // equal replies change nothing
	other := first
	other.Action = run.ActionCancel
	t.wantError("another answer to a closed question", t.store.Reply(t.Context(), one, []run.Reply{other}), record.ErrReplied)
	t.wantCurrent(d, second)
}

// snapshotAfter returns the snapshot of a draft that follows a change not yet added.
func snapshotAfter(d *ledgertest.Draft, c ledger.Change) ledger.Change {
	later := ledgertest.Of(d.Records)
	later.Add(c)
	return snapshot(later)
}

// wantCurrent checks that the store loads the state of a draft and the replies to its open
// questions, without the records before the last snapshot.
func (t *trial) wantCurrent(d *ledgertest.Draft, replies ...run.Reply) {
	t.Helper()
	log, err := t.store.LoadCurrent(t.Context(), draftKey(d))
	t.ok(err)
	got, err := ledger.StateOf(log.Records)
	t.ok(err)
	if !bytes.Equal(encode(got), encode(d.State)) {
		t.Errorf("got the state %s, want %s", encode(got), encode(d.State))
	}
	want := *d
	if d.State.Snapshot > 0 {
		want.Records = d.Records[d.State.Snapshot-d.Records[0].Seq:]
	}
	if err := diff(log, &want, replies); err != nil {
		t.Error(err)
	}
}
