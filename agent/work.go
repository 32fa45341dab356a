package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/price"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// work takes the calls of a turn to their outcomes, or as far as they get without an
// answer. One goroutine starts what can go on, the others report to it.
type work struct {
	*engine
	scope   *scope
	sched   *scheduler
	person  *person
	servers *servers
	tools   *tools
	sender  *sender
	scan    []*run.Call // for waiting
}

func newWork(e *engine) *work {
	n, wait := len(e.rec.state.Calls), time.Duration(0)
	if e.rec.ledger.journal != nil {
		wait = linger
	}
	w := &work{engine: e, scope: new(scope), sched: newScheduler(e.workers, n, e.rec.state.Limits.Parallel, wait)}
	w.person = &person{desk: e.desk, rec: e.rec, agent: e.agent, scope: w.scope, prompts: map[string]context.CancelFunc{}}
	w.servers = &servers{
		rec: e.rec, agent: e.agent, scope: w.scope, sched: w.sched, person: w.person, visits: &e.visits,
		reviews: map[question]*mcp.ReviewLaterError{},
	}
	kept := &results{rec: e.rec, agent: e.agent, scope: w.scope, offered: e.offered}
	w.tools = &tools{rec: e.rec, agent: e.agent, results: kept, offered: e.offered, jobs: make(map[string]*job, n)}
	w.sender = &sender{
		engine: e, rec: e.rec, desk: e.desk, agent: e.agent, scope: w.scope, tools: w.tools, servers: w.servers,
		results: kept, finding: &finding{rec: e.rec, agent: e.agent, offered: e.offered},
	}
	ctx := context.WithValue(e.ctx, depthKey{}, depthOf(e.ctx)+1)
	ctx = price.WithAccount(ctx, account{e})
	w.scope.ctx, w.scope.cancel = context.WithCancelCause(w.servers.asCaller(ctx))
	return w
}

// workOn works on the calls of the turn. It ends the turn, or suspends the run.
func workOn(e *engine) error {
	w := newWork(e)
	defer w.scope.cancel(nil)
	err := w.sched.run(w.start, e.rec.commit, w.scope.cancel)
	if ended := e.ended(); ended != nil {
		err = ended
	}
	if err != nil {
		return e.failed(fmt.Errorf("turn %d: %w", e.rec.state.Turn, err))
	}
	if err := w.person.closeHeld(); err != nil {
		return err
	}
	if e.rec.state.Limits.Active > 0 && w.sched.worked > 0 {
		if err := e.rec.record(nil, &run.Charged{Spent: run.Spent{Active: w.sched.worked}}); err != nil {
			return err
		}
	}
	if len(run.Open(e.rec.state)) > 0 {
		return e.desk.suspend()
	}
	output, stop := e.outputOf(), e.rec.stopped()
	if output == nil && stop == nil && e.agent.output != nil && e.rec.state.Final != "" {
		return e.failedAt(StopReason(e.rec.state.Final), e.noOutput(e.rec.state.Answer))
	}
	answer, taken := e.takenOver()
	if err := e.rec.endTurn(); err != nil {
		return err
	}
	switch {
	case output != nil:
		return e.finishWith(output)
	case stop != nil:
		return e.finishFor(*stop, StopHook)
	case taken:
		return e.finishFor(answer, StopAnswer)
	}
	return nil
}

// linger is how long the outcome of a call waits for others to share one write.
const linger = 250 * time.Millisecond

// deciding is the key of the goroutine that decides on proposed calls, one after the
// other.
const deciding = ""

// start returns what can go on. The intents of all calls are durable before the first
// one is sent, and questions before anyone is asked.
func (w *work) start() (launch []errand, err error) {
	if err := w.scope.failed(); err != nil {
		return nil, err
	}
	if err := w.startDeciding(); err != nil {
		return nil, err
	}
	if err := w.skip(); err != nil {
		return nil, err
	}
	for _, waiting := range w.waiting() {
		c := w.present(waiting)
		if c == nil {
			continue
		}
		do, err := w.next(c)
		if err != nil {
			return nil, err
		}
		if do != nil {
			if launch == nil {
				launch = make([]errand, 0, max(1, min(len(w.scan), w.sched.limit-w.sched.running)))
			}
			launch = append(launch, w.sched.call(c.ID, do))
		}
	}
	launch = append(launch, w.person.questions()...)
	if len(launch) == 0 {
		return nil, nil
	}
	if err := w.rec.commit(); err != nil {
		return nil, err
	}
	return launch, nil
}

// next returns what moves a call on, nil if nothing does.
func (w *work) next(c *run.Call) (func() error, error) {
	switch c.At {
	case run.Ready, run.Child:
		if sub := w.agent.sub(c); sub != nil {
			return w.delegate(c, sub)
		}
		return w.send(c)
	case run.Sent:
		return w.doubt(c)
	case run.Doubt:
		return w.resolve(c)
	case run.SignIn:
		return w.signedIn(c)
	case run.Round:
		return w.goOn(c)
	case run.Tasked:
		return w.await(c)
	case run.Parked:
		return w.unpark(c)
	}
	return nil, nil
}

// waits reports whether next may move a call on.
func (w *work) waits(c *run.Call, room bool) bool {
	return !w.sched.busy[c.ID] && c.At != run.Done && c.At != run.Proposed && c.At != run.Asked && (room || c.At != run.Ready)
}

// waiting is the calls that next may move on, good until the next call of waiting. A turn may have very many, and
// each end of one looks at them again: they are not copied.
func (w *work) waiting() []*run.Call {
	w.scan = w.scan[:0]
	room := w.sched.room()
	w.rec.read(func(s *run.State) {
		for _, c := range s.Calls {
			if w.waits(c, room) {
				w.scan = append(w.scan, c)
			}
		}
	})
	return w.scan
}

// present is a copy of a call as it is now, nil if it has to wait for room, or for another call of its server.
func (w *work) present(c *run.Call) (copied *run.Call) {
	room := w.sched.room() && !w.heldBack(c)
	w.rec.read(func(*run.State) {
		if w.waits(c, room) {
			call := *c
			copied = &call
		}
	})
	return copied
}

// startDeciding decides on proposed calls: on a goroutine if a person may be asked, or if
// calls are under way.
func (w *work) startDeciding() error {
	if w.sched.busy[deciding] {
		return nil
	}
	calls := w.rec.calls(isProposed)
	if w.sched.settled = len(calls) == 0; w.sched.settled {
		return nil
	}
	asks := w.asks(calls)
	if asks || slices.ContainsFunc(w.agent.opts.Hooks, func(h Hook) bool { return h.BeforeTool != nil }) {
		if err := w.rec.commit(); err != nil { // what decides may take long, and the reply was paid for
			return err
		}
	}
	if w.sched.active == 0 && !asks { // nothing else changes the calls
		w.sched.settled = true
		return guarded("tool call", func() error { return w.decide(calls) })
	}
	calls = w.rec.pending(isProposed)
	decide := func() error { return w.decide(calls) }
	w.sched.aside(deciding, decide)
	return nil
}

func isProposed(c *run.Call) bool { return c.At == run.Proposed }
