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

// Next says what a run waits for after a step.
type Next struct {
	Status    run.Status
	Questions []*run.Question // open questions, also of sub-agents, if the run waits
	Wake      time.Time       // when a waiting run continues without an answer; zero: never
}

// step moves the run on by one turn at most.
func (d *session) step(ctx context.Context, l *loaded, out func(Event) error) (Next, error) {
	e, end := d.start(ctx, l, out)
	defer end()
	defer func() { _ = e.rec.writer.save() }() // a later process finds what is missing in doubt
	err := guarded("the step", func() error {
		if err := e.engine.shape(d.output); err != nil {
			return err
		}
		e.dialog.counted = l.counted
		defer func() { l.counted = e.dialog.counted }()
		if err := l.wake(e); err != nil || !e.goes() {
			return err
		}
		return e.engine.observe(func() error {
			if err := e.step(); err != nil {
				return err
			}
			return e.rec.commit()
		})
	})
	return Next{Status: l.state.Status, Questions: ledger.Open(l.state), Wake: l.state.Wake}, err
}

// Begin keeps a new run in [Durable.Store], or gives the input to the run that [In] names,
// and leaves it to [Recover] or an engine to continue with it. The error matches [ErrWaiting], [ErrRunning] or
// [record.ErrHeld] if the run takes no input.
func (a *Agent) Begin(ctx context.Context, in Input, opts ...RunOption) (run.Key, error) {
	if a.opts.Durable.Store == nil {
		return run.Key{}, fmt.Errorf("begin a run: %w", errNoStore)
	}
	d := a.begin(in, opts)
	l, err := d.load(ctx)
	if err != nil {
		return run.Key{}, fmt.Errorf("begin a run: %w", err)
	}
	defer l.hold.release()
	if err := d.put(ctx, l); err != nil {
		return run.Key{}, fmt.Errorf("begin a run: %w", err)
	}
	return l.hold.lease.Key, nil
}

// put records the first changes of a run, and no more.
func (d *session) put(ctx context.Context, l *loaded) error {
	e, end := d.start(ctx, l, nil)
	defer end()
	if err := e.rec.record(nil, l.first...); err != nil {
		return err
	}
	return e.rec.commit()
}

// Advance moves a run of [Durable.Store] on, as an engine does: it takes the run, moves it on by one
// turn at most while its lease is renewed, and lets it go. An engine repeats it until
// the run has ended or waits, and may call it in any process and at any time: the error matches
// [record.ErrHeld] if another process has the run. If the run fails, Next says so beside the error.
// onEvent gets the events of the step on the goroutine of the caller, each with its position;
// nil drops them.
func (a *Agent) Advance(ctx context.Context, key run.Key, onEvent func(Event)) (Next, error) {
	if a.opts.Durable.Store == nil {
		return Next{}, fmt.Errorf("advance run %q: %w", key.ID, errNoStore)
	}
	l, err := a.holdStep(ctx, key)
	if err != nil {
		return Next{}, fmt.Errorf("advance: %w", err)
	}
	var next Next
	d := &session{agent: a}
	err = d.handing(ctx, l, func(e Event) bool {
		if onEvent != nil {
			onEvent(e)
		}
		return true
	}, func(ctx context.Context, out func(Event) error) (err error) {
		next, err = d.step(ctx, l, out)
		return err
	})
	if err == nil {
		a.stepped.put(l.state, l.counted)
	} else {
		err = fmt.Errorf("advance run %q: %w", key.ID, err)
		if errors.Is(err, ErrCancelled) {
			next = Next{Status: l.state.Status}
		}
		if next.Status.Ended() && !errors.Is(err, ErrFailed) && !errors.Is(err, ErrCancelled) {
			next = Next{} // the store does not have the end
		}
	}
	return next, err
}

// Cancel ends a run of [Durable.Store] as cancelled, and returns its status: a run that has
// ended before stays as it is. If a process works on the run, the error matches [record.ErrHeld]: that process is told,
// and ends the run within about a second, this process at once. [record.CancelRun] waits for it. A task that a server works
// on for the run continues there.
func (a *Agent) Cancel(ctx context.Context, key run.Key) (run.Status, error) {
	if a.opts.Durable.Store == nil {
		return "", fmt.Errorf("cancel run %q: %w", key.ID, errNoStore)
	}
	l, err := a.hold(ctx, key)
	if errors.Is(err, record.ErrHeld) {
		if unkept := a.opts.Durable.Store.Wish(ctx, key); unkept != nil {
			err = errors.Join(err, unkept)
		}
		a.renewals.wakeLook()
	}
	if err != nil {
		return "", fmt.Errorf("cancel: %w", err)
	}
	defer l.hold.release()
	if !l.state.Status.Ended() {
		l.first = []ledger.Change{cancelledRun()}
		d := &session{agent: a}
		err = d.put(ctx, l)
	}
	if err != nil {
		return "", fmt.Errorf("cancel run %q: %w", key.ID, err)
	}
	return l.state.Status, nil
}

var errNoStore = errors.New("the agent has no Options.Durable.Store")
