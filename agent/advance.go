package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/mcpchain/mcpchain/agent/run"
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
	a.recipe.cache.put(cachedRun{l.state, l.tally})
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

// stateCache keeps the runs that [Agent.Advance] stepped last, because an engine steps a run many times.
type stateCache struct {
	mu   sync.Mutex
	runs []cachedRun // the latest is last
}

// cachedRun is a run as in the store, with the counts of its history.
type cachedRun struct {
	state *ledger.State
	tally tally
}

// remove removes and returns a run, without a state if it is not cached.
func (s *stateCache) remove(key run.Key) (r cachedRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	isIt := func(r cachedRun) bool { return r.state.ID == key.ID && r.state.Tenant == key.Tenant }
	if i := slices.IndexFunc(s.runs, isIt); i >= 0 {
		r = s.runs[i]
		s.runs = slices.Delete(s.runs, i, i+1)
	}
	return r
}

// put keeps a run for the next step, unless it waits or has ended.
func (s *stateCache) put(r cachedRun) {
	if r.state.Status != run.StatusRunning || len(ledger.Open(r.state)) > 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.runs) == maxCached {
		s.runs = slices.Delete(s.runs, 0, 1)
	}
	s.runs = append(s.runs, r)
}
