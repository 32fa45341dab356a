package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

func create(t *trial) {
	d, lease := t.begin(held, opened("a", "b")...)
	t.wantLog(d)
	t.wantHolder(lease)
}

func createExists(t *trial) {
	d, lease := t.begin(expired, ledgertest.Note("first"))
	second := begin(one, ledgertest.Note("second"), ledgertest.Note("third"))
	t.wantError("create again", t.createError(second), record.ErrExists)
	t.wantLog(d)
	t.append(lease, d, ledgertest.Note("more"))
	t.wantLog(d)
}

func createRefused(t *trial) {
	d := begin(one, ledgertest.Note("x"))
	late := slices.Clone(d.Records)
	late[0].Seq, late[1].Seq = 2, 3
	empty := slices.Clone(d.Records)
	empty[1].JSON = nil
	for _, c := range []struct {
		name    string
		head    uint64 // its Seq
		records []run.Record
	}{
		{"no records", 2, nil},
		{"no first record", 3, late},
		{"a gap", 3, []run.Record{d.Records[0], late[1]}},
		{"no JSON", 2, empty},
		{"head of the second", 2, d.Records[:1]},
		{"head of the first", 1, d.Records},
	} {
		head := d.Head()
		head.Seq = c.head
		if _, err := t.store.Create(t.Context(), record.Holder{TTL: held}, head, c.records); err == nil {
			t.Errorf("%s: got no error", c.name)
		}
		t.wantNone(one)
	}
}

// load checks that changes to the arguments of Create and to a loaded log do not change the store.
func load(t *trial) {
	t.wantNone(one)
	d := begin(one, opened("a", "b")...)
	head := d.Head()
	records := slices.Clone(d.Records)
	lease, err := t.store.Create(t.Context(), record.Holder{TTL: held}, head, records)
	t.ok(err)
	t.reply(d, run.Reply{Question: "a", Action: run.ActionCancel})
	records[0], head.QuestionIDs[0] = run.Record{}, "x"
	log := t.load(one)
	log.Records[0], log.Head.QuestionIDs[0], log.Replies[0] = run.Record{}, "x", run.Reply{}
	t.wantLog(d, run.Reply{Question: "a", Action: run.ActionCancel})
	t.append(lease, d, ledgertest.Note("y"))
	_ = append(log.Records, run.Record{}) // may not be where the store has its next record
	t.wantLog(d, run.Reply{Question: "a", Action: run.ActionCancel})
}

func appendRecords(t *trial) {
	d, lease := t.begin(held)
	t.append(lease, d, ledgertest.Note("1"))
	t.append(lease, d, ledgertest.Note("2"), &ledger.Suspended{Wake: start.Add(time.Hour)})
	t.wantLog(d)
	t.append(lease, d, &ledger.Woken{}, &ledger.Ended{Status: run.StatusFinished})
	t.wantLog(d)
}

// appendWhole checks that nothing is stored if not all records are valid, or the head is not that of the last one.
func appendWhole(t *trial) {
	d, lease := t.begin(held)
	before := begin(one)
	records := d.Add(ledgertest.Note("1"), ledgertest.Note("2"))
	gap, empty := slices.Clone(records), slices.Clone(records)
	gap[1].Seq++
	empty[1].JSON = nil
	other, ahead, behind := d.Head(), d.Head(), d.Head()
	other.Key.ID = "other"
	ahead.Seq++
	behind.Seq--
	for _, c := range []struct {
		name    string
		head    run.Head
		records []run.Record
	}{
		{"a gap", ahead, gap},
		{"no JSON", d.Head(), empty},
		{"no records", d.Head(), nil},
		{"head of the second", d.Head(), records[:1]},
		{"head of the first", behind, records},
		{"head of another run", other, records},
	} {
		if err := t.store.Append(t.Context(), lease, c.head, c.records); err == nil {
			t.Errorf("%s: got no error", c.name)
		}
		t.wantLog(before)
	}
	t.ok(t.store.Append(t.Context(), lease, d.Head(), records))
	t.wantLog(d)
}

func appendConflict(t *trial) {
	d, lease := t.begin(held)
	records := d.Add(ledgertest.Note("1"))
	tries := func(what string, lease record.Lease, records []run.Record, want error) {
		t.Helper()
		t.wantError(what, t.store.Append(t.Context(), lease, d.Head(), records), want)
	}
	tries("of another epoch", record.Lease{Key: one, Epoch: lease.Epoch + 1}, records, record.ErrConflict)
	tries("of no epoch", record.Lease{Key: one}, records, record.ErrConflict)
	tries("as it should", lease, records, nil)
	tries("again", lease, records, record.ErrConflict)
	t.wantLog(d)
	ahead := ledgertest.Of(d.Records)
	ahead.Add(ledgertest.Note("2"))
	last := ahead.Add(ledgertest.Note("3"))
	t.wantError("ahead", t.store.Append(t.Context(), lease, ahead.Head(), last), record.ErrConflict)
	t.wantLog(d)
	none := begin(run.Key{ID: "none"})
	next := none.Add(ledgertest.Note("1"))
	nobody := record.Lease{Key: draftKey(none), Epoch: lease.Epoch}
	t.wantError("to no run", t.store.Append(t.Context(), nobody, none.Head(), next), record.ErrConflict)
	t.wantNone(draftKey(none))
}

// appendLost repeats an append with replies, as a holder does that lost its result: it is a conflict, and the records and
// replies are stored once.
func appendLost(t *trial) {
	d, lease := t.begin(held, opened("a", "b")...)
	replies := []run.Reply{yes("a")}
	records := d.Add(ledgertest.Note("mine"))
	for i, want := range []error{nil, record.ErrConflict, record.ErrConflict} {
		t.wantError(fmt.Sprint("try ", i), t.store.Append(t.Context(), lease, d.Head(), records, replies...), want)
		t.wantLog(d, replies...)
	}
	t.append(lease, d, ledgertest.Note("next"))
	t.wantLog(d, replies...)
}

// appendTakeovers checks Head.Takeovers after holders that ended without progress, and after
// progress.
func appendTakeovers(t *trial) {
	d, _ := t.begin(expired, opened("a")...)
	for n := range 12 {
		lease := t.acquire(one, expired)
		if n > 0 {
			t.append(lease, d, &ledger.Noted{Taken: true})
		}
		if got := t.heads(record.Query{AllTenants: true, DueAt: time.Now()}); len(got) != 1 || got[0].Takeovers != n {
			t.Errorf("got %+v, want one head with %d takeovers", got, n)
		}
	}
	t.append(t.acquire(one, held), d, &ledger.Replied{Reply: yes("a")})
	t.wantLog(d)
	if got := t.load(one).Head.Takeovers; got != 0 {
		t.Errorf("got %d takeovers after progress, want none", got)
	}
}

func appendExpired(t *trial) {
	d, lease := t.begin(expired)
	t.append(lease, d, ledgertest.Note("1"))
	t.wantLog(d)
	lease = t.acquire(one, expired)
	t.append(lease, d, ledgertest.Note("2"))
	t.wantLog(d)
}

// appendOwnMembers checks that the store ignores what a given head says of the lease and the replies.
func appendOwnMembers(t *trial) {
	d := begin(one, opened("a")...)
	wrongHead := func() run.Head {
		head := d.Head()
		head.Epoch, head.HeldUntil, head.ReplyCount = 1<<40, start, 7
		return head
	}
	lease, err := t.store.Create(t.Context(), record.Holder{TTL: held}, wrongHead(), d.Records)
	t.ok(err)
	before := t.load(one).Head
	records := d.Add(ledgertest.Note("1"))
	t.ok(t.store.Append(t.Context(), lease, wrongHead(), records))
	t.wantLog(d)
	t.wantHolder(lease)
	if got := t.load(one).Head; !got.HeldUntil.Equal(before.HeldUntil) {
		t.Errorf("got a run held until %s, want %s", got.HeldUntil, before.HeldUntil)
	}
}

func loadCurrent(t *trial) {
	d, lease := t.begin(held, ledgertest.Note("first"))
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
	d, lease := t.begin(held, opened("closed")...)
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

func deleteRun(t *trial) {
	t.ok(t.store.Delete(t.Context(), one))
	d, other := begin(one, opened("a")...), begin(run.Key{ID: "one"})
	lease := t.create(d, held)
	t.create(other, held)
	t.reply(d, yes("a"))
	t.ok(t.store.Delete(t.Context(), one))
	t.ok(t.store.Delete(t.Context(), one))
	t.wantNone(one)
	t.wantList("after a delete", record.Query{AllTenants: true}, "one")
	t.wantLog(other)
	records := d.Add(ledgertest.Note("1"))
	t.wantError("append", t.store.Append(t.Context(), lease, d.Head(), records), record.ErrConflict)
	t.wantError("renew", t.renew(lease, held), record.ErrConflict)
	t.ok(t.store.Release(t.Context(), lease))
	t.wantError("answer", t.store.Reply(t.Context(), one, []run.Reply{yes("a")}), record.ErrNotFound)
	t.wantError("acquire", t.acquireError(one), record.ErrNotFound)
	t.wantNone(one)
}

func deleteCreated(t *trial) {
	old, first := t.begin(held, opened("a")...)
	t.reply(old, yes("a"))
	t.ok(t.store.Delete(t.Context(), one))
	d, second := t.begin(held, opened("a")...)
	if first == second {
		t.Errorf("got the lease %+v for both runs", first)
	}
	t.wantLog(d)
	records := old.Add(ledgertest.Note("1"))
	t.wantError("append", t.store.Append(t.Context(), first, old.Head(), records), record.ErrConflict)
	t.wantError("renew", t.renew(first, expired), record.ErrConflict)
	t.ok(t.store.Release(t.Context(), first))
	t.wantHolder(second)
	t.reply(d, no("a"))
	t.append(second, d, ledgertest.Note("2"))
	t.wantLog(d, no("a"))
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
