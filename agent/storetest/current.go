package storetest

import (
	"bytes"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// loadCurrent loads a run from its last snapshot on, and in full.
func loadCurrent(t *trial) {
	d := begin(one, said("first"))
	lease := t.create(d, held)
	t.isCurrent(d)
	t.append(lease, d, said("second"), said("third"))
	t.isCurrent(d)
	t.append(lease, d, said("before"), d.snapshotAfter(said("before")), said("after"))
	t.isCurrent(d)
	t.append(lease, d, said("more"))
	t.isCurrent(d)
	t.append(lease, d, d.snapshot())
	t.isCurrent(d)
	t.has(d)
	if log, err := record.LoadCurrent(t.Context(), t.store, run.Key{ID: "nobody"}); err == nil {
		t.Errorf("a run that is not there: got %+v", log)
	}
}

// loadCurrentReplies loads replies from before and after a snapshot.
func loadCurrentReplies(t *trial) {
	d := begin(one, opened("closed")...)
	lease := t.create(d, held)
	first := run.Reply{Question: "closed", Action: run.ActionDecline, At: start}
	t.reply(d, first)
	t.append(lease, d, &ledger.Replied{Reply: first})
	t.append(lease, d, d.snapshot())
	t.append(lease, d, opened("open", "other")...)
	second := run.Reply{Question: "open", Action: run.ActionDecline, At: start}
	t.reply(d, second)
	t.isCurrent(d, second)
	t.has(d, second)
	t.reply(d, first, second) // equal replies change nothing
	other := first
	other.Action = run.ActionCancel
	t.wants("another answer to a closed question", t.store.Reply(t.Context(), one, []run.Reply{other}), record.ErrReplied)
	t.isCurrent(d, second)
}

// snapshotAfter returns the snapshot that follows a change not yet added.
func (d *draft) snapshotAfter(c ledger.Change) ledger.Change {
	later := &draft{state: must(ledger.StateOf(d.records))}
	later.next(c)
	return later.snapshot()
}

// isCurrent checks that the store loads the state of a draft and the replies to its open
// questions, without the records before the last snapshot if it is a CurrentLoader.
func (t *trial) isCurrent(d *draft, replies ...run.Reply) {
	t.Helper()
	log, err := record.LoadCurrent(t.Context(), t.store, d.key())
	t.ok(err)
	got, err := ledger.StateOf(log.Records)
	t.ok(err)
	if !bytes.Equal(encode(got), encode(d.state)) {
		t.Errorf("got the state %s, want %s", encode(got), encode(d.state))
	}
	want := *d
	if _, ok := t.store.(record.CurrentLoader); ok && d.state.Snapshot > 0 {
		want.records = d.records[d.state.Snapshot-d.records[0].Seq:]
	}
	if err := differs(log, &want, replies); err != nil {
		t.Error(err)
	}
}
