package agent

import (
	"context"
	"fmt"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// session drives a run in this process until it has ended or waits.
type session struct {
	agent  *Agent
	output *output // the structured output that the caller wants; nil: what the run says

	warnings []*Warning // of earlier work
	window   *WindowUse // of the last model call
	unkept   run.Status // status of the run in its store, if the last changes could not be stored

	// load returns the run: a new one, or one of the store. It is called once each time the
	// session is driven.
	load func(context.Context) (*loaded, error)
}

// loaded is a run to continue.
type loaded struct {
	state   *ledger.State
	hold    *hold // nil: it is not held in a store
	first   []ledger.Change
	replies []run.Reply // that it had when it was loaded
	counted tally       // tokens of the history
}

// start returns the driver of a session. end must be called.
func (d *session) start(ctx context.Context, l *loaded, out func(Event) error) (*driver, func()) {
	release := func() {}
	if limit := d.agent.opts.MaxDuration; limit > 0 {
		cause := fmt.Errorf("it takes longer than MaxDuration, %v: %w", limit, context.DeadlineExceeded)
		ctx, release = context.WithTimeoutCause(ctx, limit, cause)
	}
	rec := &recorder{writer: newWriter(ctx, l.state, l.hold, out), state: l.state}
	rec.writer.observe, _ = d.agent.opts.Observe.(AppendObserver)
	e := newEngine(ctx, d.agent.recipe, &openQuestions{rec: rec, agent: d.agent.recipe}, newWorkers())
	e.drive = func(child *engine) error { return newDriver(child).proceed() }
	return newDriver(e), func() {
		e.visits.end()
		e.workers.end()
		d.take(rec.writer)
		release()
	}
}

// take takes what the work has left.
func (d *session) take(l *writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d.warnings, d.window, d.unkept = append(d.warnings, l.warnings...), l.window, ""
	if l.hold != nil && l.durable != l.root.Status {
		d.unkept = l.durable
	}
}

// wake gives a waiting run what it waits for. If the run continues, that is made durable with
// its next changes; until then the store keeps the replies.
func (l *loaded) wake(e *driver) error {
	replies := l.replies
	l.replies = nil
	if len(replies) == 0 && l.hold != nil && len(ledger.Open(e.rec.state)) > 0 {
		var err error
		if replies, err = l.hold.replies(e.engine.ctx); err != nil {
			return err
		}
	}
	if err := e.engine.questions.wake(replies); err != nil || e.goes() {
		return err
	}
	return e.rec.commit()
}

// drive advances the run until it has ended or waits.
func (d *session) drive(ctx context.Context, l *loaded, out func(Event) error) error {
	e, end := d.start(ctx, l, out)
	defer end()
	defer func() { _ = e.rec.writer.save() }() // what is lost is in doubt for a later process
	for _, change := range l.first {
		if err := e.rec.record(nil, change); err != nil {
			return err
		}
	}
	if err := e.engine.shape(d.output); err != nil {
		return err
	}
	if depth, limit := depthOf(ctx), e.rec.state.Limits.Depth; depth > limit {
		return e.engine.failed(fmt.Errorf("the run is in a tool call of %d others, and may be in %d (Limits.Depth)", depth, limit))
	}
	if err := l.wake(e); err != nil {
		return err
	}
	if e.goes() {
		return e.engine.observe(func() error { return l.proceed(e) })
	}
	switch s := e.rec.state; s.Status {
	case run.StatusWaiting:
		e.rec.show(&Suspended{Questions: ledger.Open(s), Wake: s.Wake})
	case run.StatusFinished: // earlier: Replay yields this event, too
		at := Meta{Run: s.ID, Seq: s.Seq, Time: s.Updated}
		_ = e.rec.writer.emit(&Output{Meta: at, Text: s.Output, StopReason: StopReason(s.Stop), FinishReason: s.Finish})
	}
	if err := e.rec.commit(); err != nil {
		return err
	}
	return overWithout(e.rec.state)
}

// proceed advances a run until it waits or has ended.
func (l *loaded) proceed(e *driver) error {
	for e.goes() {
		if err := e.step(); err != nil {
			return err
		}
		if e.goes() {
			continue
		}
		if err := e.rec.commit(); err != nil {
			return err
		}
		if err := l.wake(e); err != nil { // a reply may have come in the meantime
			return err
		}
	}
	return e.rec.commit()
}
