package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
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
	hold    *hold   // nil: it is not held in a store
	journal journal // nil: nothing is stored
	first   []ledger.Change
	answers []run.Reply // that it had when it was loaded
	counted tally       // tokens of the history
}

// Events gives the input to the model and yields events until the run has ended or waits. The
// last pair has an [*Output] or a [*Suspended], or an error and no event. Without [In], each
// range is a run of its own and calls tools again.
//
// The run continues while the loop body handles an event, up to its next event. Leaving the
// loop cancels this process's work on the run; Events then waits for tool calls, callbacks and
// the model to return. With [Durable.Store] the run can be resumed.
//
// The messages must not be modified before the loop ends.
func (a *Agent) Events(ctx context.Context, in Input, opts ...RunOption) iter.Seq2[Event, error] {
	return a.begin(in, opts).events(ctx)
}

// begin returns a session for an input.
func (a *Agent) begin(in Input, opts []RunOption) *session {
	d := &session{agent: a}
	d.load = func(ctx context.Context) (*loaded, error) {
		if len(in) == 0 {
			return nil, errors.New("there are no messages; give at least one")
		}
		o, err := a.settings(opts)
		if err != nil {
			return nil, err
		}
		begun := &ledger.Begun{
			V: ledger.Version, ID: o.key.ID, Tenant: o.key.Tenant, Agent: ledger.AgentName{Name: a.opts.Name, Rev: a.opts.Version},
			Messages: in, Limits: *o.limits, Vars: o.vars, Schema: o.output.schemaOf(),
		}
		d.output = o.output
		if a.opts.Durable.Store == nil {
			return &loaded{state: new(ledger.State), first: []ledger.Change{begun}}, nil
		}
		return a.create(ctx, o, begun, in)
	}
	return d
}

// create creates a run in the store, or adds the input to the run with that name.
func (a *Agent) create(ctx context.Context, o *runOptions, begun *ledger.Begun, in Input) (*loaded, error) {
	s := new(ledger.State)
	first, err := s.Add(time.Now().UTC(), begun) // the time distinguishes runs with the same name
	if err != nil {
		return nil, err
	}
	h := &hold{store: a.opts.Durable.Store, ttl: a.opts.Durable.LeaseTTL, renewed: time.Now()}
	h.lease, err = a.opts.Durable.Store.Create(ctx, a.holder(), ledger.HeadOf(s), first)
	if err == nil {
		return &loaded{state: s, hold: h, journal: h}, nil
	}
	if !errors.Is(err, record.ErrExists) || o.once {
		return nil, err
	}
	l, err := a.hold(ctx, o.key)
	if err != nil {
		return nil, err
	}
	if !l.state.Status.Ended() {
		l.hold.release()
		if l.state.Status == run.StatusWaiting {
			return nil, &waitingError{l.state}
		}
		return nil, &runningError{o.key.ID}
	}
	l.first = []ledger.Change{&ledger.Said{Messages: in, Limits: *o.limits, Schema: begun.Schema}}
	return l, nil
}

// holder describes this process to a store.
func (a *Agent) holder() record.Holder {
	host, _ := os.Hostname()
	return record.Holder{Name: fmt.Sprintf("%s/%d", host, os.Getpid()), TTL: a.opts.Durable.LeaseTTL}
}

// hold acquires a run of the store to continue it. The replies are checked before that, and
// stored with the first records of this process.
func (a *Agent) hold(ctx context.Context, key run.Key, answers ...run.Reply) (*loaded, error) {
	l := new(loaded)
	if err := l.load(ctx, a, key); err != nil {
		return nil, err
	}
	unkept, err := l.admit(ctx, a.opts.Durable.Store, answers)
	if err != nil {
		return nil, err
	}
	h := &hold{store: a.opts.Durable.Store, ttl: a.opts.Durable.LeaseTTL, renewed: time.Now()}
	if h.lease, err = a.opts.Durable.Store.Acquire(ctx, key, a.holder()); err != nil {
		return nil, a.heldUntil(ctx, key, err)
	}
	if h.lease.Seq != l.state.Seq || !h.lease.Created.Equal(l.state.Created) { // another process changed it in the meantime
		if err = l.load(ctx, a, key); err == nil {
			unkept, err = l.admit(ctx, a.opts.Durable.Store, answers)
		}
		if err != nil {
			h.release()
			return nil, err
		}
	}
	h.unkept, l.hold, l.journal = unkept, h, h
	return l, nil
}

// load reads the run from the store.
func (l *loaded) load(ctx context.Context, a *Agent, key run.Key) error {
	log, err := record.LoadCurrent(ctx, a.runs(), key)
	if err != nil {
		return err
	}
	l.answers = log.Replies
	if l.state, err = ledger.StateOf(log.Records); err != nil {
		return fmt.Errorf("load run %q: %w", key.ID, err)
	}
	return nil
}

// admit checks replies against their questions, adds them to the run, and returns those that
// have to be made durable. That includes replies that the store has already, because the
// process that gave them may have died before they were durable. The store itself knows the
// replies to closed questions.
func (l *loaded) admit(ctx context.Context, store record.Store, answers []run.Reply) (unkept []run.Reply, err error) {
	open, err := ledger.CheckOpen(l.state, answers)
	switch {
	case err != nil:
		return nil, err
	case len(open) < len(answers):
		err = store.Reply(ctx, run.Key{Tenant: l.state.Tenant, ID: l.state.ID}, answers)
		l.answers = append(l.answers, open...)
		return nil, err
	}
	kept := make(map[string]run.Reply, len(l.answers))
	for _, a := range l.answers {
		kept[a.Question] = a
	}
	fresh, err := record.CheckReplies(ledger.HeadOf(l.state), kept, open)
	if err != nil {
		return nil, err
	}
	l.answers = append(l.answers, fresh...)
	return open, nil
}

// heldUntil adds details to the [record.ErrHeld] of a store that has none.
func (a *Agent) heldUntil(ctx context.Context, key run.Key, err error) error {
	if _, told := errors.AsType[*record.HeldError](err); told || !errors.Is(err, record.ErrHeld) {
		return err
	}
	if log, failed := a.opts.Durable.Store.Load(ctx, key); failed == nil && !log.Head.Held.IsZero() {
		return fmt.Errorf("acquire run %q: %w", key.ID, &record.HeldError{Until: log.Head.Held})
	}
	return err
}

// ownRuns is a store that loads only the runs of one agent.
type ownRuns struct {
	record.Store
	agent string
}

func (a *Agent) runs() record.Store { return ownRuns{a.opts.Durable.Store, a.opts.Name} }

// Load implements [record.Store].
func (s ownRuns) Load(ctx context.Context, key run.Key) (*record.Log, error) {
	log, err := s.Store.Load(ctx, key)
	return s.own(key, log, err)
}

// LoadCurrent implements [record.CurrentLoader].
func (s ownRuns) LoadCurrent(ctx context.Context, key run.Key) (*record.Log, error) {
	log, err := record.LoadCurrent(ctx, s.Store, key)
	return s.own(key, log, err)
}

func (s ownRuns) own(key run.Key, log *record.Log, err error) (*record.Log, error) {
	if err == nil && log.Head.Agent != s.agent {
		return nil, fmt.Errorf("load run %q: it is of agent %q, and this is %q", key.ID, log.Head.Agent, s.agent)
	}
	return log, err
}

// Resume replies to questions of a run in [Durable.Store] and continues the run, after a
// suspension or after its process has died. It yields events as [Agent.Events] does. Invalid
// replies are refused, each with its reason, and the run stays as it is. If the error matches
// [record.ErrHeld], the replies are stored for the holder. A finished run yields its [Output]
// again without calling the model. For a run that ended without an output the error matches
// [ErrFailed] or [ErrCancelled].
func (a *Agent) Resume(ctx context.Context, key run.Key, answers ...run.Reply) iter.Seq2[Event, error] {
	return a.resume(key, answers).events(ctx)
}

// ResumeRun is Resume for callers that want only the outcome. The result is never nil, as with
// [Agent.Run].
func (a *Agent) ResumeRun(ctx context.Context, key run.Key, answers ...run.Reply) (*Result, error) {
	return a.resume(key, answers).outcome(ctx)
}

// maxTakeovers bounds the consecutive processes that die with a run without progress: the run
// may be the cause.
const maxTakeovers = 10

// takeover returns the record of a process that takes over a running run. Beyond the bound it
// ends the run.
func takeover(s *ledger.State) []ledger.Change {
	changes := []ledger.Change{&ledger.Noted{Taken: true}}
	if s.Takeovers >= maxTakeovers {
		changes = append(changes, &ledger.Ended{Status: run.StatusFailed, Stop: record.StopParked,
			Error: fmt.Sprintf("%d processes in a row have ended while they worked on the run, without progress: see what ends them, then revive it", s.Takeovers)})
	}
	return changes
}

func (a *Agent) resume(key run.Key, answers []run.Reply) *session {
	return &session{agent: a, load: func(ctx context.Context) (*loaded, error) {
		if a.opts.Durable.Store == nil {
			return nil, errNoStore
		}
		l, err := a.hold(ctx, key, answers...)
		if errors.Is(err, record.ErrHeld) && len(answers) > 0 {
			if err := a.Reply(ctx, key, answers...); err != nil {
				return nil, err
			}
			l, err = a.hold(ctx, key) // it may have been released since
		}
		if err == nil && l.state.Status == run.StatusRunning {
			l.first = takeover(l.state)
			if l.hold.wished(ctx) {
				l.first = []ledger.Change{cancelledRun()}
			}
		}
		return l, err
	}}
}

// Reply stores replies to questions of a run, from any process, for the process that holds or
// resumes the run. Replies are checked against their questions, and the first reply to a
// question counts. A run of another agent is refused. The error matches [run.ErrUnfit],
// [run.ErrExpired], [record.ErrReplied] or [run.ErrNotAsked]; with an error no reply is stored.
func (a *Agent) Reply(ctx context.Context, key run.Key, answers ...run.Reply) error {
	if a.opts.Durable.Store == nil {
		return fmt.Errorf("answer questions: %w", errNoStore)
	}
	return record.Submit(ctx, a.runs(), key, answers...)
}

// Questions returns the open questions of a run in [Durable.Store] and of its sub-agents, from
// any process. It returns none if the run does not wait. The error matches [record.ErrNotFound]
// if there is no such run. [record.OpenQuestions] has the questions of all runs.
func (a *Agent) Questions(ctx context.Context, key run.Key) ([]*run.Question, error) {
	if a.opts.Durable.Store == nil {
		return nil, fmt.Errorf("read questions: %w", errNoStore)
	}
	log, err := record.LoadCurrent(ctx, a.runs(), key)
	if err != nil {
		return nil, fmt.Errorf("read questions: %w", err)
	}
	return log.Questions()
}

// ErrWaiting is the error of a run that waits for a person: it has no output and accepts no
// input until its questions are answered, see [Agent.Resume]. Result.Questions has them. [As]
// and [ResumeAs] return it for a run that begins to wait; [Agent.Run] only for an input to a
// run that already waits.
var ErrWaiting = errors.New("the run waits for answers to its questions")

// waitingError is an ErrWaiting with its run.
type waitingError struct{ state *ledger.State }

func (e *waitingError) Error() string {
	return fmt.Sprintf("%q waits for answers to its questions", e.state.ID)
}

func (e *waitingError) Is(target error) bool { return target == ErrWaiting }

// ErrRunning is the error of an input to a run that has no output for the last one yet, and
// that no process works on.
var ErrRunning = errors.New("the run has no answer yet; continue it by Resume or Recover")

// runningError is an ErrRunning with the id of the run.
type runningError struct{ id string }

func (e *runningError) Error() string {
	return fmt.Sprintf("%q has no answer yet; continue it by Resume or Recover", e.id)
}

func (e *runningError) Is(target error) bool { return target == ErrRunning }

// ResumeState continues a run of an agent without a store. state is [Result.State] of a run
// that waits. Resume a state only once: nothing else prevents that calls are made twice.
func (a *Agent) ResumeState(ctx context.Context, state *State, answers ...run.Reply) iter.Seq2[Event, error] {
	s := &session{agent: a, load: func(context.Context) (*loaded, error) {
		in := state.inner()
		if in.Seq == 0 {
			return nil, errors.New("there is no state")
		}
		for _, answer := range answers {
			if err := ledger.CheckReply(in, answer, time.Now()); err != nil {
				return nil, err
			}
		}
		return &loaded{state: in, answers: answers}, nil
	}}
	return s.events(ctx)
}

// start returns the driver of a session. end must be called.
func (d *session) start(ctx context.Context, l *loaded, out func(Event) error) (*driver, func()) {
	release := func() {}
	if limit := d.agent.opts.MaxDuration; limit > 0 {
		cause := fmt.Errorf("it takes longer than MaxDuration, %v: %w", limit, context.DeadlineExceeded)
		ctx, release = context.WithTimeoutCause(ctx, limit, cause)
	}
	rec := &recorder{writer: newWriter(ctx, l.state, l.journal, out), state: l.state}
	rec.writer.observe, _ = d.agent.opts.Observe.(AppendObserver)
	e := newEngine(ctx, d.agent.recipe, &desk{rec: rec, agent: d.agent.recipe}, newWorkers())
	e.drive = func(child *engine) error { return newDriver(child).proceed() }
	return newDriver(e), func() {
		e.visits.end()
		e.workers.end()
		d.warnings = append(d.warnings, e.rec.writer.warned()...)
		d.window, d.unkept = e.rec.writer.usedLast(), e.rec.writer.unkept()
		release()
	}
}

// wake gives a waiting run what it waits for. If the run continues, that is made durable with
// its next changes; until then the journal keeps the replies.
func (l *loaded) wake(e *driver) error {
	answers := l.answers
	l.answers = nil
	if len(answers) == 0 && l.journal != nil && len(ledger.Open(e.rec.state)) > 0 {
		var err error
		if answers, err = l.journal.Replies(e.engine.ctx); err != nil {
			return err
		}
	}
	if err := e.engine.desk.wake(answers); err != nil || e.goes() {
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
		_ = e.rec.writer.tell(&Output{Meta: at, Text: s.Output, StopReason: StopReason(s.Stop), FinishReason: s.Finish})
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
