package trial

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// maxAgents bounds the agents that work on a run, one after the other.
const maxAgents = 60

// runAgents has agents work on the run, one after the other, until it ends. The task says when an agent is killed.
// Between two agents, people reply to the questions of a waiting run.
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
		switch waits, err := p.answers(ctx); {
		case err != nil:
			return err
		case waits:
		case len(kills) > 0 && p.Model.Mode == results.Scripted: // other models may end their run earlier
			return harnessErrorf("the run was over before %d of %d kills", len(kills), len(p.Task.Kills))
		default:
			return nil
		}
	}
	return harnessErrorf("%d agents worked on the run, and it is not over", maxAgents)
}

// runAgent has one agent work on the run. The agent is killed before commit number killAt, or after commit -killAt if
// it is negative; 0: never.
func (p *player) runAgent(ctx context.Context, killAt int) (killed bool, err error) {
	life, kill := context.WithCancel(ctx)
	defer kill()
	store := &killingStore{Store: p.store, kill: kill, at: killAt}
	d := &driver{player: p, store: store}
	err = errors.Join(d.drive(life), d.close())
	if store.dead.Load() {
		return true, ctx.Err()
	}
	return false, err
}

// killingStore is a store that kills its agent, see runAgent. An agent that was killed commits nothing more.
type killingStore struct {
	record.Store
	kill    context.CancelFunc
	at      int // number of the commit
	commits atomic.Int64
	dead    atomic.Bool
}

// Append commits, and kills the agent before or after that if it is commit number s.at.
func (s *killingStore) Append(ctx context.Context, l record.Lease, h run.Head, records []run.Record, answers ...run.Reply) error {
	n := int(s.commits.Add(1))
	if n == s.at {
		s.die()
	}
	if s.dead.Load() {
		return context.Canceled
	}
	err := s.Store.Append(ctx, l, h, records, answers...)
	if n == -s.at {
		s.die()
	}
	return err
}

func (s *killingStore) die() {
	s.dead.Store(true)
	s.kill()
}

// release releases the lease of a killed agent, which would otherwise hold the run for a minute.
func (p *player) release(ctx context.Context) error {
	key := run.Key{ID: runID}
	log, err := p.store.Load(ctx, key)
	if errors.Is(err, record.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = p.store.Release(ctx, record.Lease{Key: key, Epoch: log.Head.Epoch})
	}
	if err != nil {
		return harnessErrorf("%w", err)
	}
	return nil
}

// answers replies to the questions of the run, and reports whether the run waited for that.
func (p *player) answers(ctx context.Context) (waits bool, err error) {
	key := run.Key{ID: runID}
	log, err := p.store.Load(ctx, key)
	if err != nil {
		return false, harnessErrorf("%w", err)
	}
	if log.Head.Status != run.StatusWaiting {
		return false, nil
	}
	s, err := ledger.StateOf(log.Records)
	if err != nil {
		return false, harnessErrorf("%w", err)
	}
	for _, q := range ledger.Open(s) {
		a, err := answer(&p.Task.People, q)
		if err != nil {
			return false, err
		}
		if err := record.Submit(ctx, p.store, key, a); err != nil {
			return false, err
		}
	}
	return true, nil
}
