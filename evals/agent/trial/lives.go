package trial

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// maxAgents bounds the agents that work on a run, one after the other.
const maxAgents = 60

// runAgents has agents work on the run, one after the other, until it ends. The task says when an agent is killed.
// Between two agents, people reply to the questions of a waiting run. One agent is enough for a task that neither kills
// nor suspends it: people then reply while it works ([driver.setPeople]).
func (p *player) runAgents(ctx context.Context) error {
	kills := p.Task.Kills
	if len(kills) == 0 && !p.Task.Suspend {
		_, err := p.runAgent(ctx, 0)
		return err
	}
	for range maxAgents {
		at := 0
		if len(kills) > 0 {
			at = kills[0]
		}
		killed, err := p.runAgent(ctx, at)
		if err != nil {
			return err
		}
		if killed {
			kills = kills[1:]
			if err := p.release(ctx); err != nil {
				return err
			}
			continue
		}
		switch waited, err := p.replyToAll(ctx); {
		case err != nil:
			return err
		case waited:
		case len(kills) > 0 && p.Model.Mode == results.Scripted: // other models may end their run earlier
			return harnessErrorf("the run was over before %d of %d kills", len(kills), len(p.Task.Kills))
		default:
			return nil
		}
	}
	return harnessErrorf("%d agents worked on the run, and it is not over", maxAgents)
}

// runAgent has one agent work on the run. The agent is killed before commit number killAt, or after commit -killAt if
// it is negative; 0: never. Its commits count from 1, without the creation of the run.
func (p *player) runAgent(ctx context.Context, killAt int) (killed bool, err error) {
	life, kill := context.WithCancel(ctx)
	defer kill()
	store := &killingStore{Store: p.store, kill: kill, at: killAt}
	d := &driver{player: p, store: store}
	driveErr, closeErr := d.drive(life), d.close()
	if store.dead.Load() {
		return true, errors.Join(ctx.Err(), closeErr) // nobody sees the error of a process that was killed
	}
	return false, errors.Join(driveErr, closeErr)
}

// killingStore is a store that kills its agent, see runAgent. An agent that was killed writes nothing more: in the
// store, it looks like a process that was killed.
type killingStore struct {
	record.Store
	kill    context.CancelFunc
	at      int         // number of the commit
	commits int         // so far; used only by Append: an agent commits one at a time
	dead    atomic.Bool // also read by what renews the lease
}

// Append commits, and kills the agent before or after that if it is commit number s.at.
func (s *killingStore) Append(ctx context.Context, l record.Lease, h run.Head, records []run.Record, replies ...run.Reply) error {
	s.commits++
	n := s.commits
	if n == s.at {
		s.die()
	}
	err := s.unlessDead(func() error { return s.Store.Append(ctx, l, h, records, replies...) })
	if n == -s.at {
		s.die()
	}
	return err
}

// Reply implements [record.Store].
func (s *killingStore) Reply(ctx context.Context, key run.Key, replies []run.Reply) error {
	return s.unlessDead(func() error { return s.Store.Reply(ctx, key, replies) })
}

// Renew implements [record.Store].
func (s *killingStore) Renew(ctx context.Context, l record.Lease, ttl time.Duration) error {
	return s.unlessDead(func() error { return s.Store.Renew(ctx, l, ttl) })
}

// Release implements [record.Store].
func (s *killingStore) Release(ctx context.Context, l record.Lease) error {
	return s.unlessDead(func() error { return s.Store.Release(ctx, l) })
}

func (s *killingStore) die() {
	s.dead.Store(true)
	s.kill()
}

// unlessDead writes, unless the agent was killed.
func (s *killingStore) unlessDead(write func() error) error {
	if s.dead.Load() {
		return context.Canceled
	}
	return write()
}

// release releases the lease of a killed agent, which would otherwise hold the run for a minute.
func (p *player) release(ctx context.Context) error {
	key := run.Key{ID: runID}
	log, err := p.store.Load(ctx, key)
	if err == nil {
		err = p.store.Release(ctx, record.Lease{Key: key, Epoch: log.Head.Epoch})
	}
	if err != nil {
		return &harnessError{err}
	}
	return nil
}

// replyToAll replies to the questions of the run, and reports whether the run waited for that. Its error matches
// errHarness, also if a reply of the task does not fit its question.
func (p *player) replyToAll(ctx context.Context) (waited bool, err error) {
	key := run.Key{ID: runID}
	log, err := p.store.Load(ctx, key)
	if err != nil {
		return false, &harnessError{err}
	}
	if log.Head.Status != run.StatusWaiting {
		return false, nil
	}
	s, err := ledger.StateOf(log.Records)
	if err != nil {
		return false, &harnessError{err}
	}
	for _, q := range ledger.Open(s) {
		a, err := answer(&p.Task.People, q)
		if err == nil {
			err = record.Submit(ctx, p.store, key, a)
		}
		if err != nil {
			return false, &harnessError{err}
		}
	}
	return true, nil
}
