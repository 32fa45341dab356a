package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Begin stores a new run in [Durable.Store], or adds the input to the run named by [WithRun], and
// leaves the work to [Recover] or a workflow engine. The error matches [ErrWaiting],
// [ErrUnfinished] or [record.ErrHeld] if the run accepts no input.
func (a *Agent) Begin(ctx context.Context, in Input, opts ...RunOption) (run.Key, error) {
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
	r, end := s.start(ctx, l, nil)
	defer end()
	if err := r.rec.record(nil, l.first...); err != nil {
		return err
	}
	return r.rec.commit()
}

// Progress is the state of a run after a step: what it waits for, if anything.
type Progress struct {
	Status    run.Status
	Questions []*run.Question // open questions if the run waits, including those of sub-agents
	Wake      time.Time       // when a waiting run continues without a reply; zero: never
}

// Advance advances a run of [Durable.Store] by at most one turn: it acquires the run, renews its
// lease while it works, and releases it. A workflow engine, such as package temporal, calls it,
// from any process, until the run has ended or waits. The error matches [record.ErrHeld] if another
// process holds the run. If the run fails, Progress says so as well as the error.
//
// onEvent is called with the events of the step on the caller's goroutine; nil ignores them.
func (a *Agent) Advance(ctx context.Context, key run.Key, onEvent func(Event)) (Progress, error) {
	l, err := a.holdStep(ctx, key)
	if err != nil {
		return Progress{}, fmt.Errorf("advance: %w", err)
	}
	var next Progress
	s := &session{agent: a}
	err = s.runWork(ctx, l, func(e Event) bool {
		if onEvent != nil {
			onEvent(e)
		}
		return true
	}, func(ctx context.Context, l *loadedRun, out func(Event) error) (err error) {
		next, err = s.step(ctx, l, out)
		return err
	})
	switch {
	case err == nil:
		a.recipe.cache.put(l.state, l.tally)
		return next, nil
	case errors.Is(err, ErrCancelled):
		next = Progress{Status: l.state.Status}
	case next.Status.Ended() && !errors.Is(err, ErrFailed):
		next = Progress{} // the end was not stored
	}
	return next, fmt.Errorf("advance run %q: %w", key.ID, err)
}

// step advances the run by at most one turn.
func (s *session) step(ctx context.Context, l *loadedRun, out func(Event) error) (Progress, error) {
	r, end := s.start(ctx, l, out)
	defer end()
	defer func() { _ = r.rec.writer.save() }() // what is lost is in doubt for a later process
	err := guard("the step", func() error {
		if err := r.engine.setOutput(s.output); err != nil {
			return err
		}
		r.dialog.tally = l.tally
		defer func() { l.tally = r.dialog.tally }()
		if err := l.wake(r); err != nil || !r.isRunning() {
			return err
		}
		return r.engine.observe(func() error {
			if err := r.step(); err != nil {
				return err
			}
			return r.rec.commit()
		})
	})
	return Progress{Status: l.state.Status, Questions: ledger.Open(l.state), Wake: l.state.Wake}, err
}
