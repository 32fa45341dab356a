package agent

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// turn takes the calls of a turn to their outcomes, or as far as possible without a reply. Its
// methods run on the scheduler's goroutine, except those that drive a sub-agent, which run on its call's worker.
type turn struct {
	shared
	engine    *engine
	sched     *scheduler
	person    *person
	held      *heldQuestions
	servers   *servers
	tools     *tools
	sender    *sender
	decisions *decisions
	buffer    []*ledger.Call // reused by advanceable

	intents []ledger.Change // recorded by start, with their events
	starts  []Event

	callSlab   slab[ledger.Call] // turns may have very many calls
	intentSlab slab[ledger.Intent]
}

// shared is what the parts of a turn share.
type shared struct {
	rec       *recorder
	agent     *recipe
	questions *openQuestions
	scope     *scope
	offered   func() *adapter.Catalog // the tools that the model was offered
}

// newTurn returns the turn of the calls in the state of a run. Its scope has to be cancelled.
// Outcomes wait for each other only in a run that is stored.
func newTurn(e *engine) *turn {
	var wait time.Duration
	if e.rec.writer.hold != nil {
		wait = linger
	}
	n := len(e.rec.state.Calls)
	all := shared{e.rec, e.agent, e.questions, new(scope), e.offered}
	kept := &results{all}
	t := &turn{
		shared:     all,
		engine:     e,
		sched:      newScheduler(e.workers, n, e.rec.state.Limits.Parallel, wait, e.hold),
		person:     &person{shared: all, prompts: map[string]context.CancelFunc{}},
		held:       &heldQuestions{shared: all},
		tools:      &tools{shared: all, results: kept, jobs: make(map[string]*job, n)},
		callSlab:   slab[ledger.Call]{n: n},
		intentSlab: slab[ledger.Intent]{n: n},
	}
	t.servers = &servers{
		shared: all, sched: t.sched, held: t.held, handlers: &e.handlers, reviews: map[requestID]*inquiry.ReviewLaterError{},
	}
	t.sender = &sender{shared: all, engine: e, tools: t.tools, servers: t.servers, results: kept, searcher: &searcher{all}}
	t.decisions = &decisions{shared: all, tools: t.tools, sender: t.sender, slab: slab[ledger.Decided]{n: n}}
	ctx := context.WithValue(e.ctx, depthKey{}, enclosingRuns(e.ctx)+1)
	ctx = context.WithValue(ctx, callKey{}, (*Call)(nil)) // not the call that this run is for
	ctx = cost.WithAccount(ctx, e.account())
	t.scope.ctx, t.scope.cancel = context.WithCancelCause(t.servers.withCaller(ctx))
	return t
}

// linger is how long the outcome of a call waits for others to share a write.
const linger = 250 * time.Millisecond

// runCalls takes the calls of the turn to their outcomes. Then it ends the turn, or suspends the run
// if questions are open.
func (e *engine) runCalls() error {
	t := newTurn(e)
	defer t.scope.cancel(nil)
	err := t.sched.run(t.start, e.rec.commit, t.scope.cancel)
	if ended := e.endError(); ended != nil {
		err = ended
	}
	if err != nil {
		return e.fail(fmt.Errorf("turn %d: %w", e.rec.state.Turn, err))
	}
	if err := t.held.close(); err != nil {
		return err
	}
	if worked := t.sched.worked(); e.rec.state.Limits.Active > 0 && worked > 0 {
		if err := e.rec.record(nil, &ledger.Charged{Spent: run.Usage{Active: worked}}); err != nil {
			return err
		}
	}
	if len(ledger.Open(e.rec.state)) > 0 {
		return e.questions.suspend()
	}
	return e.endTurn()
}

// endTurn ends a turn whose calls all have outcomes. It ends the run, too, if one of them gave the
// structured output, the answer of a hook, or that of an agent that has taken over. If a limit forced
// the last answer, and it lacks the structured output, the run fails.
func (e *engine) endTurn() error {
	output, stop := e.callOutput(), e.rec.stopAnswer()
	hasEnd := output != nil || stop != nil
	if !hasEnd && e.agent.output != nil && e.rec.state.Final != "" {
		return e.failAt(StopReason(e.rec.state.Final), e.noOutputError(e.rec.state.Output))
	}
	answer, handedOff := e.handoffAnswer()
	if err := e.rec.endTurn(); err != nil {
		return err
	}
	switch {
	case output != nil:
		return e.finish("", output, StopOutput)
	case stop != nil:
		return e.finishFor(*stop, StopHook)
	case handedOff:
		return e.finishFor(answer, StopOutput)
	}
	return nil
}

// hasSucceeded reports whether a call has a result that is not an error.
func hasSucceeded(c *ledger.Call) bool { return c.At == ledger.CallDone && !c.Result.IsError }

// start returns the work items that can begin, and records what needs none. The intents
// of all calls are durable before the first is sent, and questions before anyone is asked.
func (t *turn) start() (launch []workItem, err error) {
	if err := t.scope.handlerError(); err != nil {
		return nil, err
	}
	if err := t.startDeciding(); err != nil {
		return nil, err
	}
	if err := t.endUnsent(); err != nil {
		return nil, err
	}
	if launch, err = t.advance(); err != nil {
		return nil, err
	}
	intents, starts := t.intents, t.starts
	t.intents, t.starts = nil, nil
	if err := t.rec.record(starts, intents...); err != nil {
		return nil, err
	}
	launch = append(launch, t.person.workItems()...)
	if len(launch) == 0 {
		return nil, nil
	}
	if err := t.rec.commit(); err != nil {
		return nil, err
	}
	return launch, nil
}

// advance advances calls by a step each, and returns work items for those that need one.
func (t *turn) advance() (launch []workItem, err error) {
	for _, call := range t.advanceable() {
		c := t.current(call)
		if c == nil {
			continue
		}
		do, err := steps[c.At](t, c)
		if err != nil {
			return nil, err
		}
		if do == nil {
			continue
		}
		if launch == nil {
			launch = make([]workItem, 0, max(1, min(len(t.buffer), t.sched.room())))
		}
		item := t.sched.toolCall(c.ID, do)
		item.isBrief = c.At == ledger.CallReady && t.agent.subAgent(c) == nil && t.tools.job(c).isNative()
		launch = append(launch, item)
	}
	return launch, nil
}

// advanceable returns the calls that a step may advance. The slice is valid until it is called again: it
// is not copied, because a turn may have very many calls, and each end of one examines them again.
func (t *turn) advanceable() []*ledger.Call {
	t.buffer = t.buffer[:0]
	room := t.sched.hasRoom()
	t.rec.read(func(s *ledger.State) {
		for _, c := range s.Calls {
			if t.canAdvance(c, room) {
				t.buffer = append(t.buffer, c)
			}
		}
	})
	return t.buffer
}

// canAdvance reports whether a step may advance a call now.
func (t *turn) canAdvance(c *ledger.Call, room bool) bool {
	mayBegin := room || c.At != ledger.CallReady
	return mayBegin && !t.sched.isBusy(c.ID) && steps[c.At] != nil
}

// current returns a copy of a call as it is now. It returns nil if the call has to wait for room or for
// another call to its server, or if an earlier step has moved it.
func (t *turn) current(c *ledger.Call) (copied *ledger.Call) {
	room := t.sched.hasRoom() && !t.mustWait(c)
	t.rec.read(func(*ledger.State) {
		if t.canAdvance(c, room) {
			copied = t.callSlab.one()
			*copied = *c
		}
	})
	return copied
}

// mustWait reports whether a call has to wait for another call to its server: calls that may
// change something are made one after the other, see [Options.ParallelWrites]. It is false for a call without a job,
// and reads only constant fields of the call.
func (t *turn) mustWait(c *ledger.Call) bool {
	if !t.sched.isLaneTaken(c.Server) {
		return false
	}
	j := t.tools.known(c)
	return j != nil && j.call != nil && t.isOrdered(j)
}

// isOrdered reports whether a call may change something, so that others to its server wait for it.
func (t *turn) isOrdered(j *job) bool {
	return !t.agent.opts.ParallelWrites && !j.call.Tool().ReadOnly()
}

// startDeciding decides on proposed calls: in a work item if a person may be asked or calls are
// in progress.
func (t *turn) startDeciding() error {
	if t.sched.isBusy(deciding) {
		return nil
	}
	calls := t.rec.pending(isProposed)
	if len(calls) == 0 {
		t.sched.allowCalls()
		return nil
	}
	asks := t.decisions.mayAsk(calls)
	if asks || hooks(t.agent.opts.Hooks).at(hasBeforeTool) {
		if err := t.rec.commit(); err != nil { // deciding may take long, and the reply was paid for
			return err
		}
	}
	decide := func() error { return t.decisions.decide(calls) }
	if t.sched.isIdle() && !asks { // nothing else changes the calls
		t.sched.allowCalls()
		return guard("decision on tool calls", decide)
	}
	t.sched.startDecision(deciding, decide)
	return nil
}

// deciding is the key of the work item that decides on proposed calls in order.
const deciding = ""

func isProposed(c *ledger.Call) bool { return c.At == ledger.CallProposed }

// step returns the function that advances a call, nil if the call has to wait or the step has
// advanced it. The step runs on the scheduler's goroutine, the function usually on another.
type step func(*turn, *ledger.Call) (func() error, error)

// steps maps the states of a call to their steps. In other states a call waits for a decision or a
// reply, or is done.
var steps = map[ledger.CallAt]step{
	ledger.CallReady:    beginCall,
	ledger.CallOfChild:  beginCall,
	ledger.CallSent:     resolveDoubt,
	ledger.CallInDoubt:  applyDoubtReply,
	ledger.CallAtSignIn: resumeAfterSignIn,
	ledger.CallInRound:  continueRound,
	ledger.CallTasked:   (*turn).send,
	ledger.CallParked:   unpark,
}

// beginCall sends a call, or lets a sub-agent work on it.
func beginCall(t *turn, c *ledger.Call) (func() error, error) {
	if sub := t.agent.subAgent(c); sub != nil {
		return delegate(t, c, sub)
	}
	return t.send(c)
}

// scope is the lifetime of a turn's calls. Its context ends with their first error, which may
// come from a handler.
type scope struct {
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu      sync.Mutex // guards the following field
	failure error      // the first error of a handler
}

// fail ends the work with an error of a handler.
func (s *scope) fail(err error) error {
	s.mu.Lock()
	if s.failure == nil {
		s.failure = err
	}
	s.mu.Unlock()
	s.cancel(err)
	return err
}

// handlerError returns the error of a handler that ended the work.
func (s *scope) handlerError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// slab allocates values in batches. A batch is freed as a whole.
type slab[T any] struct {
	n     int // how many more are likely to be needed
	spare []T
}

// maxSlab bounds a batch.
const maxSlab = 64

// one returns a new value.
func (s *slab[T]) one() *T {
	if len(s.spare) == 0 {
		s.spare = make([]T, max(1, min(s.n, maxSlab)))
		s.n -= len(s.spare)
	}
	v := &s.spare[0]
	s.spare = s.spare[1:]
	return v
}
