package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

const many = 16 // goroutines that do the same at once

// race calls do in many goroutines, and returns the numbers of those without an error. The
// others must have the error want.
func (t *trial) race(want error, do func(i int) error) (won []int) {
	t.Helper()
	errs := make([]error, many)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	for i, err := range errs {
		if err == nil {
			won = append(won, i)
		} else if want == nil || !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	return won
}

// raceForOne is race for what one of the goroutines can do, and returns its number.
func (t *trial) raceForOne(want error, do func(i int) error) int {
	t.Helper()
	won := t.race(want, do)
	if len(won) != 1 {
		t.Fatalf("got the winners %v, want one", won)
	}
	return won[0]
}

func createAtOnce(t *trial) {
	drafts := make([]*ledgertest.Draft, many)
	for i := range drafts {
		drafts[i] = begin(one, ledgertest.Note(fmt.Sprint(i)))
	}
	won := t.raceForOne(record.ErrExists, func(i int) error {
		return t.createError(drafts[i])
	})
	t.wantLog(drafts[won])
}

// appendAtOnce has many holders append the same record: one of them succeeds.
func appendAtOnce(t *trial) {
	d, lease := t.begin(held)
	for range 8 {
		drafts := make([]*ledgertest.Draft, many)
		for i := range drafts {
			drafts[i] = ledgertest.Of(d.Records)
			drafts[i].Add(ledgertest.Note(fmt.Sprint(i)))
		}
		d = drafts[t.raceForOne(record.ErrConflict, func(i int) error {
			return t.store.Append(t.Context(), lease, drafts[i].Head(), drafts[i].Records[len(d.Records):])
		})]
		t.wantLog(d)
	}
}

func acquireAtOnce(t *trial) {
	d, _ := t.begin(expired)
	leases := make([]record.Lease, many)
	take := func(holder record.Holder) func(i int) error {
		return func(i int) (err error) {
			leases[i], err = t.store.Acquire(t.Context(), one, holder)
			return err
		}
	}
	won := t.raceForOne(record.ErrHeld, take(record.Holder{TTL: held}))
	t.append(leases[won], d, ledgertest.Note("1"))
	t.ok(t.store.Release(t.Context(), leases[won]))

	t.race(nil, take(record.Holder{TTL: expired}))
	epochs, last := map[uint64]bool{}, record.Lease{}
	for _, l := range leases {
		epochs[l.Epoch] = true
		if l.Epoch > last.Epoch {
			last = l
		}
	}
	if len(epochs) != many {
		t.Errorf("got %d epochs, want %d", len(epochs), many)
	}
	records := d.Add(ledgertest.Note("2"))
	won = t.raceForOne(record.ErrConflict, func(i int) error { return t.store.Append(t.Context(), leases[i], d.Head(), records) })
	if leases[won] != last {
		t.Errorf("got the winner %v, want the last holder %v", leases[won], last)
	}
	t.wantLog(d)
}

func replyAtOnce(t *trial) {
	d, _ := t.begin(held, opened("a", "b")...)
	replies := make([]run.Reply, many)
	won := t.raceForOne(record.ErrReplied, func(i int) error {
		replies[i] = run.Reply{Question: "a", Action: run.ActionAllow, By: fmt.Sprint(i)}
		return t.store.Reply(t.Context(), one, []run.Reply{replies[i]})
	})
	t.race(nil, func(int) error { return t.store.Reply(t.Context(), one, []run.Reply{yes("b")}) })
	t.wantLog(d, replies[won], yes("b"))
}

// appendRepliesAtOnce has the holder and other processes reply at once.
func appendRepliesAtOnce(t *trial) {
	d, lease := t.begin(held, opened("a")...)
	next := begin(one, opened("a")...)
	records := next.Add(ledgertest.Note("1"))
	replies := make([]run.Reply, many)
	won := t.raceForOne(record.ErrReplied, func(i int) error {
		replies[i] = run.Reply{Question: "a", Action: run.ActionAllow, By: fmt.Sprint(i)}
		if i == many/2 {
			return t.store.Append(t.Context(), lease, next.Head(), records, replies[i])
		}
		return t.store.Reply(t.Context(), one, []run.Reply{replies[i]})
	})
	if won == many/2 {
		d = next
	}
	t.wantLog(d, replies[won])
}

// loadAtOnce reads and lists a run while it changes, and checks that each result is of one moment.
func loadAtOnce(t *trial) {
	d, lease := t.begin(held, opened("a")...)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				t.wantConsistent(ctx)
			}
		})
	}
	for i := range 10 {
		question, next := fmt.Sprint("a", i), fmt.Sprint("a", i+1)
		t.append(lease, d, opened(question)...)
		t.reply(d, yes(question))
		t.append(lease, d, append([]ledger.Change{replied(yes(question)), ledgertest.Note("x")}, opened("q"+next)...)...)
		t.append(lease, d, replied(no("q"+next)))
	}
	stop()
	wg.Wait()
	t.wantLog(d)
}

// wantConsistent checks that a loaded run is of one moment.
func (t *trial) wantConsistent(ctx context.Context) {
	log, err := t.store.Load(ctx, one)
	if err != nil {
		if ctx.Err() == nil {
			t.Error(err)
		}
		return
	}
	s, err := ledger.StateOf(log.Records)
	if err != nil {
		t.Error(err)
		return
	}
	if err := diffHead(log.Head, s, log.Replies); err != nil {
		t.Error(err)
	}
	for head, err := range t.store.List(ctx, record.Query{AllTenants: true}) {
		if ctx.Err() == nil && (err != nil || head.Seq < log.Head.Seq) {
			t.Errorf("got record %d, %v in a list after record %d", head.Seq, err, log.Head.Seq)
		}
	}
}
