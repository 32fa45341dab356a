package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Begin stores a new run in [Durable.Store], or adds the input to the run named by [WithRun], and
// leaves the work to [Recover] or a workflow engine. The error matches [ErrWaiting],
// [ErrUnfinished] or [record.ErrHeld] if the run accepts no input.
func (a *Agent) Begin(ctx context.Context, in []run.Message, opts ...RunOption) (run.Key, error) {
	if a.recipe.opts.Durable.Store == nil {
		return run.Key{}, fmt.Errorf("begin a run: %w", errNoStore)
	}
	s := a.begin(in, opts)
	l, err := s.load(ctx)
	if err != nil {
		return run.Key{}, fmt.Errorf("begin a run: %w", err)
	}
	defer l.hold.release()
	if err := s.recordFirst(ctx, l); err != nil {
		return run.Key{}, fmt.Errorf("begin a run: %w", err)
	}
	return l.hold.lease.Key, nil
}

// recordFirst records the first changes of a run, and makes them durable.
func (s *session) recordFirst(ctx context.Context, l *loadedRun) error {
	e, end := s.start(ctx, l, nil)
	defer end()
	if err := e.rec.record(nil, l.first...); err != nil {
		return err
	}
	return e.rec.commit()
}

// Advance advances a run of [Durable.Store] by at most one turn: it acquires the run, renews its
// lease while it works, and releases it. A workflow engine, such as package temporal, calls it,
// from any process, until the run has ended or waits; a run that waits continues at the latest when
// the first of Result.Questions expires. The error matches [record.ErrHeld] if another process holds
// the run. The result is never nil, but has no State. If the run fails, its Status says so as well as
// the error.
//
// onEvent is called with the events of the step on the caller's goroutine, as the loop body of
// [Agent.Events]; nil ignores them.
func (a *Agent) Advance(ctx context.Context, key run.Key, onEvent func(Event)) (*Result, error) {
	l, err := a.holdStep(ctx, key)
	if err != nil {
		return new(Result), fmt.Errorf("advance: %w", err)
	}
	s := &session{agent: a}
	err = s.runWork(ctx, l, func(e Event) bool {
		if onEvent != nil {
			onEvent(e)
		}
		return true
	}, s.step)
	r := s.result(l.state)
	r.State = nil // the next step changes it
	if err != nil {
		return r, fmt.Errorf("advance run %q: %w", key.ID, err)
	}
	a.recipe.cache.put(l.state, l.tally)
	return r, nil
}

// step advances the run by at most one turn.
func (s *session) step(ctx context.Context, l *loadedRun, out func(Event) error) error {
	e, end := s.start(ctx, l, out)
	defer end()
	if err := e.setOutput(nil); err != nil {
		return err
	}
	r := newDriver(e)
	r.dialog.tally = l.tally
	defer func() { l.tally = r.dialog.tally }()
	if err := l.wake(r); err != nil || !r.isRunning() {
		return err
	}
	return e.observe(func() error {
		if err := r.step(); err != nil {
			return err
		}
		return r.rec.commit()
	})
}

// maxCached bounds the runs whose states a process keeps between steps.
const maxCached = 16

// stateCache keeps the states of the runs that [Agent.Advance] stepped last, because an engine steps a
// run many times. Each state is as in the store.
type stateCache struct {
	mu   sync.Mutex
	runs []cachedState // the latest is last
}

// cachedState is a state, with the counts of its history.
type cachedState struct {
	state *ledger.State
	tally tally
}

func (c cachedState) isOf(key run.Key) bool {
	return c.state.ID == key.ID && c.state.Tenant == key.Tenant
}

// remove removes and returns the state that a run has according to its lease, nil if it is not cached.
func (s *stateCache) remove(lease record.Lease) (*ledger.State, tally) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.runs, func(c cachedState) bool { return c.isOf(lease.Key) })
	if i < 0 {
		return nil, tally{}
	}
	c := s.runs[i]
	s.runs = slices.Delete(s.runs, i, i+1)
	if c.state.Seq != lease.Seq || !c.state.Created.Equal(lease.Created) {
		return nil, tally{} // another process has continued it, or deleted and created it
	}
	return c.state, c.tally
}

// put keeps a state for the next step, unless the run waits or has ended.
func (s *stateCache) put(r *ledger.State, tally tally) {
	if r.Status != run.StatusRunning || len(ledger.Open(r)) > 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.runs) == maxCached {
		s.runs = slices.Delete(s.runs, 0, 1)
	}
	s.runs = append(s.runs, cachedState{r, tally})
}

// has reports whether the state of a run is cached.
func (s *stateCache) has(key run.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.runs, func(c cachedState) bool { return c.isOf(key) })
}
