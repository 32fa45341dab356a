package record

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Submit checks replies against their questions, and stores them for the present or next holder
// of the run. Replies without a time get the present one. A question that does not survive its
// process ([run.Question.Survives]) takes no reply once that process has ended: when its lease has
// ended, or should have been renewed long ago. The errors come from [run.CheckReply], [Store.Load]
// and [Store.Reply]. With an error of this package no reply was stored; after any other error
// load the run.
func Submit(ctx context.Context, store Store, key run.Key, replies ...run.Reply) error {
	if len(replies) == 0 {
		return nil
	}
	log, err := store.LoadCurrent(ctx, key)
	if err != nil {
		return err
	}
	s, err := ledger.StateOf(log.Records)
	if err != nil {
		return fmt.Errorf("load run %q: %w", key.ID, err)
	}
	open, err := ledger.CheckOpen(s, replies)
	if err != nil {
		return err
	}
	if !holderLives(log.Head, time.Now()) {
		if err := checkSurvive(s, open); err != nil {
			return err
		}
	}
	return store.Reply(ctx, key, ledger.Dated(replies))
}

// lateRenewal is the part of a lease, a quarter, that is left only if its holder has missed two
// renewals: it renews after each third of the lease.
const lateRenewal = 4

// holderLives reports whether a process holds the run and has renewed its lease in time. A
// process that was killed seems to live until three quarters of its lease have passed.
func holderLives(h run.Head, now time.Time) bool {
	return h.HeldAt(now) && h.HeldUntil.Sub(now) > h.TTL/lateRenewal
}

func checkSurvive(s *ledger.State, replies []run.Reply) error {
	for _, q := range ledger.Open(s) {
		if !q.Survives && slices.ContainsFunc(replies, func(reply run.Reply) bool { return reply.Question == q.ID }) {
			return fmt.Errorf("answer question %q of run %q: the process that asked it has ended, or has not renewed its lease: %w", q.ID, s.ID, run.ErrNotAsked)
		}
	}
	return nil
}
