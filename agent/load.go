package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// loadedRun is a run to continue.
type loadedRun struct {
	state   *ledger.State
	hold    *hold           // nil: the run is not stored
	first   []ledger.Change // recorded before the run continues
	replies []run.Reply     // those that it had when it was loaded
	tally   tally

	isCancelled bool // its cancellation was requested before this process acquired it
}

// begin returns a session for an input.
func (a *Agent) begin(in []run.Message, opts []RunOption) *session {
	s := &session{agent: a}
	s.load = func(ctx context.Context) (*loadedRun, error) {
		if len(in) == 0 {
			return nil, errors.New("there are no messages; give at least one")
		}
		o, err := a.recipe.settings(opts)
		if err != nil {
			return nil, err
		}
		begun := &ledger.Begun{
			V: ledger.Version, ID: o.key.ID, Tenant: o.key.Tenant,
			Agent:    ledger.AgentName{Name: a.recipe.opts.Name},
			Messages: in, Limits: *o.limits, Vars: o.vars,
		}
		if o.output != nil {
			begun.Schema = o.output.schema
		}
		s.output = o.output
		if a.recipe.opts.Durable.Store == nil {
			return &loadedRun{state: new(ledger.State), first: []ledger.Change{begun}}, nil
		}
		return a.create(ctx, o, begun, in)
	}
	return s
}

// create creates a run in the store, or acquires the run that has the key for the input. A run that
// has not ended is an error.
func (a *Agent) create(ctx context.Context, o *runOptions, begun *ledger.Begun, in []run.Message) (*loadedRun, error) {
	s := new(ledger.State)
	first, err := s.Add(time.Now().UTC(), begun) // the time distinguishes runs with the same key
	if err != nil {
		return nil, err
	}
	h := a.newHold()
	h.lease, err = h.store.Create(ctx, a.holder(), ledger.HeadOf(s), first)
	if err == nil {
		return &loadedRun{state: s, hold: h}, nil
	}
	if !errors.Is(err, record.ErrExists) || o.newOnly {
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
		return nil, fmt.Errorf("input for %q: %w", o.key.ID, ErrUnfinished)
	}
	l.first = []ledger.Change{&ledger.Said{Messages: in, Limits: *o.limits, Schema: begun.Schema}}
	return l, nil
}

// holder describes this process to a store.
func (a *Agent) holder() record.Holder {
	host, _ := os.Hostname()
	return record.Holder{Name: fmt.Sprintf("%s/%d", host, os.Getpid()), TTL: a.recipe.opts.Durable.LeaseTTL}
}

// hold acquires a run of the store to continue it. The replies are checked before that, and
// stored with the first records of this process.
func (a *Agent) hold(ctx context.Context, key run.Key, replies ...run.Reply) (*loadedRun, error) {
	l := new(loadedRun)
	unsaved, err := l.loadWith(ctx, a, key, replies)
	if err != nil {
		return nil, err
	}
	h, err := a.acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	if !h.isOf(l.state) {
		if unsaved, err = l.loadWith(ctx, a, key, replies); err != nil {
			h.release()
			return nil, err
		}
	}
	h.unsaved = unsaved
	l.setHold(ctx, h)
	return l, nil
}

// setHold makes h, which this process has just acquired, the hold of the loaded run, and looks for a
// request to cancel the run.
func (l *loadedRun) setHold(ctx context.Context, h *hold) {
	l.hold = h
	if !l.state.Status.Ended() {
		requests, err := h.store.CancelRequests(ctx)
		seq, ok := requests[h.lease.Key]
		l.isCancelled = err == nil && ok && h.hasToCancel(ctx, seq) // after an error the renewer checks again
	}
}

// acquire acquires the lease of a run.
func (a *Agent) acquire(ctx context.Context, key run.Key) (h *hold, err error) {
	h = a.newHold()
	if h.lease, err = h.store.Acquire(ctx, key, a.holder()); err != nil {
		return nil, err
	}
	return h, nil
}

// isOf reports whether a run that was loaded before is still like that: no other process has continued it, or deleted
// and created it.
func (h *hold) isOf(s *ledger.State) bool {
	return h.lease.Seq == s.Seq && h.lease.Created.Equal(s.Created)
}

// holdStep acquires a run for a step. It loads the run unless this process was the last to step it.
func (a *Agent) holdStep(ctx context.Context, key run.Key) (*loadedRun, error) {
	cached := a.recipe.cache.remove(key)
	if cached.state == nil {
		return a.hold(ctx, key)
	}
	h, err := a.acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	l := &loadedRun{state: cached.state, tally: cached.tally}
	if !h.isOf(l.state) {
		l.tally = tally{}
		if err := l.load(ctx, a, key); err != nil {
			h.release()
			return nil, err
		}
	}
	l.setHold(ctx, h)
	return l, nil
}

// newHold returns a hold whose lease is requested now.
func (a *Agent) newHold() *hold {
	return &hold{store: a.recipe.opts.Durable.Store, ttl: a.recipe.opts.Durable.LeaseTTL, renewed: time.Now()}
}

// load reads the run, with its replies, from the store. The error is errNoStore without a store.
func (l *loadedRun) load(ctx context.Context, a *Agent, key run.Key) error {
	if a.recipe.opts.Durable.Store == nil {
		return errNoStore
	}
	log, err := a.runs().LoadCurrent(ctx, key)
	if err != nil {
		return err
	}
	l.replies = log.Replies
	if l.state, err = ledger.StateOf(log.Records); err != nil {
		return fmt.Errorf("load run %q: %w", key.ID, err)
	}
	return nil
}

var errNoStore = errors.New("agent has no Options.Durable.Store")

// loadWith reads the run from the store and adds replies to it, see addReplies.
func (l *loadedRun) loadWith(
	ctx context.Context, a *Agent, key run.Key, replies []run.Reply,
) (unsaved []run.Reply, err error) {
	if err := l.load(ctx, a, key); err != nil {
		return nil, err
	}
	return l.addReplies(ctx, a.recipe.opts.Durable.Store, replies)
}

// addReplies checks replies against their questions, adds them to the run, with the present time where
// they have none, and returns those that have to be made durable with the next records. That includes
// replies that the store has already, because the process that gave them may have died before they were
// durable. If a question is closed, all replies go to the store, which compares them with those of
// closed questions.
func (l *loadedRun) addReplies(
	ctx context.Context, store record.Store, replies []run.Reply,
) (unsaved []run.Reply, err error) {
	now := time.Now()
	replies = ledger.Dated(replies, now)
	open, err := ledger.CheckOpen(l.state, replies, now)
	switch {
	case err != nil:
		return nil, err
	case len(open) < len(replies):
		err = store.Reply(ctx, run.Key{Tenant: l.state.Tenant, ID: l.state.ID}, replies)
		l.replies = append(l.replies, open...)
		return nil, err
	}
	stored := make(map[string]run.Reply, len(l.replies))
	for _, r := range l.replies {
		stored[r.Question] = r
	}
	fresh, err := record.CheckReplies(ledger.HeadOf(l.state), stored, open)
	if err != nil {
		return nil, err
	}
	l.replies = append(l.replies, fresh...)
	return open, nil
}

// ownRuns is a store that loads only the runs of one agent.
type ownRuns struct {
	record.Store
	agent string
}

// runs returns the store as this agent may read it.
func (a *Agent) runs() record.Store { return ownRuns{a.recipe.opts.Durable.Store, a.recipe.opts.Name} }

// Load implements [record.Store].
func (s ownRuns) Load(ctx context.Context, key run.Key) (*record.Log, error) {
	log, err := s.Store.Load(ctx, key)
	return s.checkAgent(key, log, err)
}

// LoadCurrent implements [record.Store].
func (s ownRuns) LoadCurrent(ctx context.Context, key run.Key) (*record.Log, error) {
	log, err := s.Store.LoadCurrent(ctx, key)
	return s.checkAgent(key, log, err)
}

// checkAgent refuses the run of another agent.
func (s ownRuns) checkAgent(key run.Key, log *record.Log, err error) (*record.Log, error) {
	if err == nil && log.Head.Agent != s.agent {
		return nil, fmt.Errorf("load run %q: it belongs to agent %q, and this is %q", key.ID, log.Head.Agent, s.agent)
	}
	return log, err
}
