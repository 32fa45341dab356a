package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// session drives a run in this process until it has ended or waits.
type session struct {
	agent  *Agent
	output *output // the structured output that the caller wants; nil: that of the run, if any

	// load returns the run: a new one, or one of the store. It is called once each time the
	// session is driven.
	load func(context.Context) (*loadedRun, error)

	unfinished string // text of a reply that was broken off; recorded if the run fails or is cancelled

	// For the result:
	warnings     []*Warning
	window       *WindowUse // use of the window in the last model call
	storedStatus run.Status // status of the run in its store, if the last changes could not be stored
}

// outcome drives the session and returns its result, which is never nil.
func (s *session) outcome(ctx context.Context) (*Result, error) {
	l, err := s.load(ctx)
	if err == nil {
		err = s.runWork(ctx, l, nil, s.drive)
	} else {
		l = &loadedRun{state: new(ledger.State)}
		if waiting, ok := errors.AsType[*waitingError](err); ok {
			l.state = waiting.state
		}
	}
	if err != nil {
		err = fmt.Errorf("run agent: %w", err)
	}
	return s.result(l.state), err
}

// result returns the result of a run that the session has driven.
func (s *session) result(state *ledger.State) *Result {
	r := newResult(state)
	r.Warnings, r.Window = s.warnings, s.window
	if s.storedStatus != "" {
		r.Status, r.StopReason, r.Output, r.Failure = s.storedStatus, "", "", ""
	}
	return r
}

// events drives the session and yields the events of the run.
func (s *session) events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		l, err := s.load(ctx)
		stopped := false // the loop was left
		if err == nil {
			err = s.runWork(ctx, l, func(e Event) bool {
				stopped = !yield(e, nil)
				return !stopped
			}, s.drive)
		}
		if err != nil && !stopped {
			yield(nil, fmt.Errorf("run agent: %w", err))
		}
	}
}

// work advances a loaded run. out gets its events; nil: nobody wants them.
type work func(ctx context.Context, l *loadedRun, out func(Event) error) error

// runWork calls work on a goroutine of its own while the lease of the run is renewed, so that a
// callback that ends its goroutine does not end the caller's. yield gets the events on the caller's
// goroutine, with their positions, unless it is nil; when it returns false the work is cancelled,
// and the error is errStopped. runWork returns when the work has ended.
func (s *session) runWork(ctx context.Context, l *loadedRun, yield func(Event) bool, do work) error {
	last := Position{Seq: l.state.Seq}
	ctx, cancel := context.WithCancelCause(ctx)
	events := make(chan Event) // never closed: a model may call back too late
	done := make(chan struct{})
	err := errGoexit
	go func() {
		defer close(done)
		err = s.withHold(ctx, l, func(ctx context.Context) error {
			var out func(Event) error
			if yield != nil {
				out = func(e Event) error { return sendEvent(ctx, events, e) }
			}
			return guard("the loop", func() error { return do(ctx, l, out) })
		})
	}()
	defer func() { // also if the loop body panics
		cancel(errStopped)
		<-done
	}()
	for {
		select {
		case e := <-events:
			if e == nil {
				continue // see [recorder.awaitCaller]
			}
			if m := e.meta(); m.Seq == 0 { // it belongs to no record
				m.Seq, m.More = last.Seq, last.More
			}
			last = e.Position()
			if !yield(e) {
				return errStopped
			}
		case <-done:
			cancel(errOver) // the error for what calls back too late
			return err
		}
	}
}

// sendEvent passes an event to the goroutine of runWork, until the context ends.
func sendEvent(ctx context.Context, events chan<- Event, e Event) error {
	select {
	case events <- e:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// drive records the first changes of the run, and advances it until it has ended or waits. A run that
// had finished or waits already only emits its last event; one that had ended otherwise is an error.
func (s *session) drive(ctx context.Context, l *loadedRun, out func(Event) error) error {
	e, end := s.start(ctx, l, out)
	defer end()
	if err := e.rec.record(nil, l.first...); err != nil {
		return err
	}
	if err := e.setOutput(s.output); err != nil {
		return err
	}
	if depth, limit := enclosingRuns(ctx), e.rec.state.Limits.Depth; depth > limit {
		return e.fail(fmt.Errorf("run is within tool calls of %d others, and at most %d are allowed (Limits.Depth)", depth, limit))
	}
	r := newDriver(e)
	if err := l.wake(r); err != nil {
		return err
	}
	if r.isRunning() {
		return e.observe(func() error { return l.proceed(r) })
	}
	switch s := r.rec.state; s.Status {
	case run.StatusWaiting:
		r.rec.show(&Suspended{Questions: ledger.Open(s)})
	case run.StatusFinished: // in an earlier session: Replay yields this event, too
		at := EventInfo{Run: s.ID, Seq: s.Seq, Time: s.Updated}
		_ = r.rec.writer.emit(&Output{EventInfo: at, Text: s.Output, StopReason: StopReason(s.Stop), FinishReason: s.Finish})
	}
	if err := r.rec.commit(); err != nil {
		return err
	}
	return outcomeError(r.rec.state)
}

// start returns the engine of a loaded run. The caller must call end, which writes what is recorded, and
// waits for handlers and tool calls, and keeps what a [Result] needs. out gets the events; nil: nobody wants them.
func (s *session) start(ctx context.Context, l *loadedRun, out func(Event) error) (e *engine, end func()) {
	rec := &recorder{writer: newWriter(ctx, l.state, l.hold, out), state: l.state}
	rec.writer.observer = s.agent.recipe.opts.Observer
	e = newEngine(ctx, s.agent.recipe, &openQuestions{rec: rec, agent: s.agent.recipe}, newWorkers())
	e.drive = func(child *engine) error { return newDriver(child).proceed() }
	return e, func() {
		_ = rec.writer.save() // what is lost is in doubt for a later process
		e.handlers.end()
		e.workers.end()
		w := rec.writer
		w.mu.Lock()
		defer w.mu.Unlock()
		s.warnings = append(s.warnings, w.warnings...)
		s.window, s.unfinished = e.window, e.unfinished
		s.storedStatus = ""
		if w.hold != nil && w.durable != w.root.Status {
			s.storedStatus = w.durable
		}
	}
}

// proceed advances a run until it waits or has ended.
func (l *loadedRun) proceed(r *driver) error {
	for r.isRunning() {
		if err := r.step(); err != nil {
			return err
		}
		if r.isRunning() {
			continue
		}
		if err := r.rec.commit(); err != nil {
			return err
		}
		if err := l.wake(r); err != nil { // a reply may have come in the meantime
			return err
		}
	}
	return r.rec.commit()
}

// wake gives a waiting run what it waits for: the replies that it was loaded with, or else those that
// the store has got since. If the run continues, that is made durable with its next changes; until
// then the store keeps the replies. Otherwise it is durable when wake returns.
func (l *loadedRun) wake(r *driver) error {
	replies := l.replies
	l.replies = nil
	if len(replies) == 0 && l.hold != nil && len(ledger.Open(r.rec.state)) > 0 {
		var err error
		if replies, err = l.hold.replies(r.engine.ctx); err != nil {
			return err
		}
	}
	if err := r.engine.questions.wake(replies); err != nil || r.isRunning() {
		return err
	}
	return r.rec.commit()
}

// driver advances a run: by calls of the model, and by the tool calls that it asks for.
type driver struct {
	engine      *engine
	rec         *recorder // the engine's
	dialog      dialog
	lostCharged bool // the reservations of earlier processes are charged
}

// newDriver returns the driver of an engine whose structured output is set, see setOutput.
func newDriver(e *engine) *driver {
	return &driver{engine: e, rec: e.rec, dialog: dialog{engine: e, rec: e.rec, agent: e.agent, account: e.account()}}
}

// step advances the run by one turn, or as far as possible. Its changes are recorded but not
// yet committed.
func (d *driver) step() error {
	if !d.lostCharged {
		d.lostCharged = true
		if err := d.dialog.account.chargeLost(); err != nil {
			return err
		}
	}
	if d.isRunning() && d.rec.state.Phase == ledger.PhaseModel {
		if err := d.dialog.turn(); err != nil {
			return err
		}
	}
	if d.isRunning() && d.rec.state.Phase == ledger.PhaseCalls {
		return d.engine.runCalls()
	}
	return nil
}

// proceed advances the run of a sub-agent until it waits or has ended. It is an error if agents are
// nested deeper than the root run allows.
func (d *driver) proceed() error {
	limit := d.rec.writer.root.Limits.Depth
	if depth := len(d.rec.path); depth > limit {
		return fmt.Errorf("sub-agents are nested %d deep, and at most %d levels are allowed (Limits.Depth)", depth, limit)
	}
	for d.isRunning() {
		if err := d.step(); err != nil {
			return err
		}
	}
	return nil
}

// isRunning reports whether a step can advance the run.
func (d *driver) isRunning() bool { return d.rec.state.Status == run.StatusRunning }
