package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Progress is the state of a run after a step: what it waits for, if anything.
type Progress struct {
	Status    run.Status
	Questions []*run.Question // open questions if the run waits, including those of sub-agents
	Wake      time.Time       // when a waiting run continues without a reply; zero: never
}

// step advances the run by at most one turn.
func (d *session) step(ctx context.Context, l *loadedRun, out func(Event) error) (Progress, error) {
	r, end := d.start(ctx, l, out)
	defer end()
	defer func() { _ = r.rec.writer.save() }() // what is lost is in doubt for a later process
	err := guard("the step", func() error {
		if err := r.engine.setOutput(d.output); err != nil {
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

// Begin stores a new run in [Durable.Store], or adds the input to the run named by [WithRun], and
// leaves the work to [Recover] or a workflow engine. The error matches [ErrWaiting],
// [ErrUnfinished] or [record.ErrHeld] if the run accepts no input.
func (a *Agent) Begin(ctx context.Context, in Input, opts ...RunOption) (run.Key, error) {
	if a.recipe.opts.Durable.Store == nil {
		return run.Key{}, fmt.Errorf("begin a run: %w", errNoStore)
	}
	d := a.begin(in, opts)
	l, err := d.load(ctx)
	if err != nil {
		return run.Key{}, fmt.Errorf("begin a run: %w", err)
	}
	defer l.hold.release()
	if err := d.recordFirst(ctx, l); err != nil {
		return run.Key{}, fmt.Errorf("begin a run: %w", err)
	}
	return l.hold.lease.Key, nil
}

// recordFirst records the first changes of a run.
func (d *session) recordFirst(ctx context.Context, l *loadedRun) error {
	r, end := d.start(ctx, l, nil)
	defer end()
	if err := r.rec.record(nil, l.first...); err != nil {
		return err
	}
	return r.rec.commit()
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
	d := &session{agent: a}
	err = d.runWork(ctx, l, func(e Event) bool {
		if onEvent != nil {
			onEvent(e)
		}
		return true
	}, func(ctx context.Context, l *loadedRun, out func(Event) error) (err error) {
		next, err = d.step(ctx, l, out)
		return err
	})
	if err == nil {
		a.recipe.cache.put(l.state, l.tally)
	} else {
		err = fmt.Errorf("advance run %q: %w", key.ID, err)
		if errors.Is(err, ErrCancelled) {
			next = Progress{Status: l.state.Status}
		}
		if next.Status.Ended() && !errors.Is(err, ErrFailed) && !errors.Is(err, ErrCancelled) {
			next = Progress{} // the end was not stored
		}
	}
	return next, err
}

// Cancel cancels a run of [Durable.Store] and returns its status. A run that has ended stays as
// it is. If another process holds the run, the error matches [record.ErrHeld]: that process is
// told and ends the run within about a second; [record.CancelRun] waits for it. A task that a
// server runs for the run is not stopped.
func (a *Agent) Cancel(ctx context.Context, key run.Key) (run.Status, error) {
	l, err := a.hold(ctx, key)
	if errors.Is(err, record.ErrHeld) {
		if requestErr := a.recipe.opts.Durable.Store.RequestCancel(ctx, key); requestErr != nil {
			err = errors.Join(err, requestErr)
		}
		a.recipe.renewals.checkCancelsNow()
	}
	if err != nil {
		return "", fmt.Errorf("cancel: %w", err)
	}
	defer l.hold.release()
	if l.state.Status.Ended() {
		return l.state.Status, nil
	}
	l.first = []ledger.Change{ledger.Cancellation()}
	if err := (&session{agent: a}).recordFirst(ctx, l); err != nil {
		return "", fmt.Errorf("cancel run %q: %w", key.ID, err)
	}
	return l.state.Status, nil
}

var errNoStore = errors.New("agent has no Options.Durable.Store")
