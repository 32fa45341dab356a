package run

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
)

// defaultAsks bounds the questions of a list.
const defaultAsks = 1000

// OpenAsk is a question that waits for an answer, and the run that asks it. An answer goes to
// [Submit] with the run's key.
type OpenAsk struct {
	Key   Key    `json:"key"`
	Agent string `json:"agent,omitzero"`
	Ask   *Ask   `json:"ask"`

	// Run is the head of the run, by which a list continues behind it: see [Query].After.
	Run Head `json:"-"`

	// Err says why the questions of the run cannot be read: it is damaged, or of a later
	// version. Ask is nil then. The questions of other runs follow.
	Err error `json:"-"`
}

// OpenAsks returns the questions of many runs that have no answer yet, for a page that shows
// what waits and needs no agent for it. The query selects the runs by tenant and agents; its
// Limit bounds the questions, 0 is 1,000: those of one run stay together, so that there may be a few more. Its After is
// [OpenAsk].Run of the last question of the page before. Its other fields do not count. Runs that go on and
// hold a question in an open call come first, then runs that wait; both in the order of
// [Store].List. An error of the store is the last pair.
func OpenAsks(ctx context.Context, store Store, q Query) iter.Seq2[OpenAsk, error] {
	return func(yield func(OpenAsk, error) bool) {
		left := q.Limit
		if left <= 0 {
			left = defaultAsks
		}
		seen := map[Key]bool{} // a run may begin to wait in between, or go on
		phases := []Status{Running, Waiting, Running}
		switch {
		case q.After == nil:
		case q.After.Status == Waiting:
			phases = []Status{Waiting}
		default:
			phases = []Status{Running, Waiting}
		}
		for i, status := range phases {
			runs := Query{Tenant: q.Tenant, AllTenants: q.AllTenants, Agents: q.Agents, Status: status}
			if i == 0 {
				runs.After = q.After
			}
			for head, err := range store.List(ctx, runs) {
				var asks []OpenAsk
				if damaged, ok := errors.AsType[*DamagedError](err); ok {
					if err = nil; !seen[head.Key] {
						seen[head.Key] = true
						asks = []OpenAsk{{Key: head.Key, Run: head, Err: damaged}}
					}
				} else if err == nil && len(head.Asks) > head.Answers && !seen[head.Key] {
					asks, err = openOf(ctx, store, head)
				}
				if err != nil {
					yield(OpenAsk{}, fmt.Errorf("list open questions: %w", err))
					return
				}
				for _, ask := range asks {
					seen[head.Key] = true
					if left--; !yield(ask, nil) {
						return
					}
				}
				if left <= 0 {
					return
				}
			}
		}
	}
}

// openOf returns the questions of one run.
func openOf(ctx context.Context, store Store, head Head) (open []OpenAsk, err error) {
	var asks []*Ask
	log, err := LoadCurrent(ctx, store, head.Key)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil // it was deleted meanwhile
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil:
		asks, err = log.Asks()
	}
	if err != nil {
		return []OpenAsk{{Key: head.Key, Agent: head.Agent, Run: head, Err: err}}, nil
	}
	for _, ask := range asks {
		open = append(open, OpenAsk{Key: head.Key, Agent: head.Agent, Run: head, Ask: ask})
	}
	return open, nil
}

// Asks returns the open questions of the run and its sub-agents that have no answer yet. The error is that of [Fold].
func (l *Log) Asks() ([]*Ask, error) {
	s, err := Fold(l.Records)
	if err != nil {
		return nil, fmt.Errorf("run %q: %w", l.Head.Key.ID, err)
	}
	answered := func(q *Ask) bool {
		return slices.ContainsFunc(l.Answers, func(a Answer) bool { return a.Ask == q.ID })
	}
	return slices.DeleteFunc(Open(s), answered), nil
}
