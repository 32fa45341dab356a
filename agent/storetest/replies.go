package storetest

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

func yes(question string) run.Reply {
	return run.Reply{
		Question: question,
		Action:   run.ActionAccept,
		Reason:   "<so>",
		Content:  []byte(`{"city":"Łódź","n":1.0}`),
		By:       "alice",
		At:       start,
		Unknown:  jsontext.Value(`{"mood":["good"]}`),
	}
}

func no(question string) run.Reply {
	return run.Reply{Question: question, Action: run.ActionDecline, By: "bob", At: start}
}

func replied(a run.Reply) ledger.Change { return &ledger.Replied{Reply: a} }

// reply checks that Reply needs no lease, and leaves the lease of the holder as it is.
func reply(t *trial) {
	d, lease := t.begin(held, opened("a", "b", "c")...)
	t.reply(d, no("c"), yes("a"))
	t.wantLog(d, yes("a"), no("c"))
	t.wantHolder(lease)
	t.reply(d)
	t.append(lease, d, ledgertest.Note("1"))
	t.wantLog(d, yes("a"), no("c"))
	t.append(lease, d, replied(yes("a")))
	t.wantLog(d, no("c"))
	t.reply(d, yes("b"))
	t.append(lease, d, replied(yes("b")), replied(no("c")))
	t.wantLog(d)
	t.append(lease, d, opened("d")...)
	t.reply(d, yes("d"))
	t.wantLog(d, yes("d"))
}

func firstReplyCounts(t *trial) {
	d, _ := t.begin(held, opened("a")...)
	t.reply(d, yes("a"))
	later := yes("a")
	later.At = start.Add(time.Hour)
	t.reply(d, later)
	t.reply(d, yes("a"), later)
	t.wantError("another answer", t.store.Reply(t.Context(), one, []run.Reply{no("a")}), record.ErrReplied)
	t.wantLog(d, yes("a"))
}

func replyNotAsked(t *trial) {
	t.wantError("answer no run", t.store.Reply(t.Context(), one, []run.Reply{yes("a")}), record.ErrNotFound)
	d, lease := t.begin(held, opened("a")...)
	t.wantError("answer no question", t.store.Reply(t.Context(), one, []run.Reply{yes("b")}), run.ErrNotAsked)
	t.append(lease, d, replied(no("a"))) // as the holder does
	t.wantError("answer a closed question", t.store.Reply(t.Context(), one, []run.Reply{no("a")}), run.ErrNotAsked)
	t.wantLog(d)
}

func repliesTogether(t *trial) {
	d, _ := t.begin(held, opened("a", "b")...)
	tries := func(what string, want error, replies ...run.Reply) {
		t.Helper()
		t.wantError(what, t.store.Reply(t.Context(), one, replies), want)
	}
	tries("answer what is not asked", run.ErrNotAsked, yes("a"), yes("c"))
	tries("give two answers", record.ErrReplied, yes("a"), no("a"))
	t.wantLog(d)
	tries("answer", nil, yes("b"))
	tries("give another answer", record.ErrReplied, yes("a"), no("b"))
	t.wantLog(d, yes("b"))
}

func replyToClosed(t *trial) {
	d, lease := t.begin(held, opened("a", "b")...)
	t.reply(d, yes("a"))
	t.append(lease, d, replied(yes("a")))
	t.reply(d, yes("a"))
	t.wantError("another answer", t.store.Reply(t.Context(), one, []run.Reply{no("a")}), record.ErrReplied)
	t.wantLog(d)
	t.append(lease, d, &ledger.Ended{Status: run.StatusCancelled})
	t.reply(d, yes("a"))
	t.wantError("answer at the end", t.store.Reply(t.Context(), one, []run.Reply{yes("b")}), run.ErrNotAsked)
	t.wantLog(d)
}

// appendReplies stores replies with the records that the holder makes of them.
func appendReplies(t *trial) {
	d, lease := t.begin(held, opened("a", "b", "c")...)
	t.appendWith(lease, d, []run.Reply{yes("a")}, replied(yes("a")), ledgertest.Note("1"))
	t.wantLog(d)
	t.reply(d, yes("a"))
	t.wantError("another answer", t.store.Reply(t.Context(), one, []run.Reply{no("a")}), record.ErrReplied)
	t.appendWith(lease, d, []run.Reply{yes("b")}, ledgertest.Note("2"))
	t.wantLog(d, yes("b"))
	t.reply(d, no("c"))
	t.appendWith(lease, d, []run.Reply{no("c"), yes("b")}, replied(yes("b")))
	t.wantLog(d, no("c"))
	t.appendWith(lease, d, []run.Reply{yes("a")}, &ledger.Ended{Status: run.StatusFinished})
	t.wantLog(d)
}

// appendRepliesRefused checks that nothing is stored if the records or a reply are refused.
func appendRepliesRefused(t *trial) {
	d, lease := t.begin(held, opened("a", "b")...)
	t.reply(d, no("b"))
	tries := func(what string, want error, lease record.Lease, replies ...run.Reply) {
		t.Helper()
		next := ledgertest.Of(d.Records)
		records := next.Add(opened("c")...)
		t.wantError(what, t.store.Append(t.Context(), lease, next.Head(), records, replies...), want)
		t.wantLog(d, no("b"))
	}
	tries("with another answer", record.ErrReplied, lease, yes("a"), yes("b"))
	tries("with two answers", record.ErrReplied, lease, yes("a"), no("a"))
	tries("with an answer to no question", run.ErrNotAsked, lease, yes("a"), yes("z"))
	tries("with an answer to a question of its own", run.ErrNotAsked, lease, yes("c"))
	tries("of another epoch", record.ErrConflict, record.Lease{Key: one, Epoch: lease.Epoch + 1}, yes("a"))
	t.wantError("to no run", t.store.Append(t.Context(), record.Lease{Key: run.Key{ID: "none"}, Epoch: 1},
		begin(run.Key{ID: "none"}).Head(), begin(run.Key{ID: "none"}).Records, yes("a")), record.ErrConflict)
	behind := begin(one, opened("a")...)
	t.wantError("behind another record", t.store.Append(t.Context(), lease, behind.Head(), behind.Records[1:], yes("a")), record.ErrConflict)
	t.wantLog(d, no("b"))
	t.appendWith(lease, d, []run.Reply{yes("a")}, ledgertest.Note("1"))
	t.wantLog(d, yes("a"), no("b"))
}
