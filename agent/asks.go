package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// open opens a question.
func (e *engine) open(q *run.Ask) error { return e.openAll(nil, []*run.Ask{q}) }

// openAll records changes and opens questions, all at once. Beyond the limit of open
// questions the run fails.
func (e *engine) openAll(changes []run.Change, asks []*run.Ask) error {
	e.rec.ledger.mu.Lock()
	defer e.rec.ledger.mu.Unlock()
	return e.openLocked(changes, asks)
}

func (e *engine) openLocked(changes []run.Change, asks []*run.Ask) error {
	open := len(run.Open(e.rec.ledger.root))
	if limit := e.root().rec.state.Limits.Asks; limit >= 0 && open+len(asks) > limit {
		return fmt.Errorf("more than %d questions are open (Limits.Asks)", limit)
	}
	var events []Event
	for _, q := range asks {
		q.ID = "ask_" + newKey()
		q.Created = time.Now().UTC().Truncate(time.Millisecond)
		if end := q.Created.Add(e.agent.opts.AskTTL); end.After(q.Created) && (q.Expires.IsZero() || end.Before(q.Expires)) {
			q.Expires = end
		}
		q.Path = e.rec.path
		changes, events = append(changes, &run.Opened{Ask: *q}), append(events, &Asked{Ask: q})
	}
	return e.rec.recordLocked(events, changes...)
}

// keysOf are the keys of a round's questions, in a fixed order.
func keysOf(round *mcp.InputRequired) []string {
	return slices.Sorted(maps.Keys(round.Requests))
}

// questionOf makes a question to a person of one of a round, nil if it is of another kind.
func (w *work) questionOf(call string, round *mcp.InputRequired, key string) *run.Ask {
	request := round.Requests[key]
	if params, ok := request.Elicitation(); ok {
		return &run.Ask{Kind: kindOf(params), Key: key, Elicit: params}
	}
	return w.reviewOf(call, key, request)
}

func kindOf(params *mcp.ElicitParams) run.AskKind {
	if params.Mode == mcp.ElicitURL {
		return run.AskURL
	}
	return run.AskForm
}

// questions returns what puts the open questions to Options.Answer, each once, and of several
// for one sign-in the first. It ends the wait for answers to questions that are settled. A handler
// puts the questions that do not survive.
func (w *work) questions() (launch []errand) {
	if w.atHandFunc() == nil {
		return nil
	}
	var asks []*run.Ask
	w.rec.read(func(s *run.State) { asks = slices.Clone(s.Asks) })
	for id, cancel := range w.prompts {
		if !slices.ContainsFunc(asks, func(q *run.Ask) bool { return q.ID == id }) {
			cancel()
			delete(w.prompts, id)
		}
	}
	for _, q := range asks {
		if w.prompts[q.ID] != nil || !q.Survives || w.putsSignIn(q, asks) {
			continue
		}
		ctx, cancel := context.WithCancel(w.ctx)
		w.prompts[q.ID] = cancel
		launch = append(launch, errand{report{key: q.ID}, func() error { return w.put(ctx, q) }})
	}
	return launch
}

// putsSignIn reports whether the sign-in of a question is put for another call. It is put once:
// what the person accepts is for all calls, and after a refusal the next one is put.
func (w *work) putsSignIn(q *run.Ask, asks []*run.Ask) bool {
	return q.Kind == run.AskSignIn && slices.ContainsFunc(asks, func(o *run.Ask) bool {
		return o.Kind == q.Kind && o.Server == q.Server && o.URL == q.URL && w.prompts[o.ID] != nil
	})
}

// put puts a question to the person at hand, and records the answer. Without one the
// question stays open.
func (w *work) put(ctx context.Context, q *run.Ask) error {
	answer, err := w.putOnce(ctx, q)
	switch {
	case w.engine.ctx.Err() != nil:
		return w.ended()
	case w.rec.question(q.ID) == nil:
		return nil // it was settled meanwhile
	case errors.Is(err, run.ErrExpired):
		return w.answered(expired(q, time.Now()))
	case err != nil:
		return notAnswered(q, err)
	case answer == nil:
		return nil
	}
	return w.answered(*answer)
}

// putOnce asks the person at hand. A sign-in that the person is being asked for by another agent of the run
// gets the answer to that.
func (w *work) putOnce(ctx context.Context, q *run.Ask) (answer *run.Answer, err error) {
	if q.Kind == run.AskSignIn {
		other, end, ended := w.rec.ledger.signIns.begin(ctx, q)
		if end == nil {
			return other, ended
		}
		defer func() { end(answer, err) }()
	}
	w.rec.show(&AnswerStart{Ask: q})
	start := time.Now()
	answer, err = w.person(ctx, q)
	w.rec.show(&AnswerEnd{Ask: q, Answer: answer, Err: err, Duration: time.Since(start)})
	return answer, err
}

// notAnswered is the error of Options.Answer, which ends the run.
func notAnswered(q *run.Ask, err error) error {
	return fmt.Errorf("answer the question about %s: %w", cmp.Or(q.Tool, q.Server), err)
}

// atHandFunc is Options.Answer of the agent or of one that it works for.
func (e *engine) atHandFunc() func(context.Context, *run.Ask) (run.Answer, error) {
	for ; e != nil; e = e.parent {
		if e.agent.opts.Answer != nil {
			return e.agent.opts.Answer
		}
	}
	return nil
}

// person asks Options.Answer, and completes what it says. It returns nil if that does not answer.
func (e *engine) person(ctx context.Context, q *run.Ask) (*run.Answer, error) {
	var a run.Answer
	err := guarded("answer callback", func() (err error) {
		asked := *q
		a, err = e.atHandFunc()(ctx, &asked)
		return err
	})
	if err != nil || a.Action == "" {
		return nil, err
	}
	a.Ask = cmp.Or(a.Ask, q.ID)
	if a.At.IsZero() {
		a.At = time.Now().UTC().Truncate(time.Millisecond)
	}
	return &a, run.Check(q, a, time.Now())
}

// answered records an answer to an open question of this run or its sub-agents.
func (e *engine) answered(a run.Answer) error {
	q := e.rec.question(a.Ask)
	if q == nil {
		return e.answeredBelow(a) // or it was closed meanwhile
	}
	return e.closeAsk(q, a)
}

// closeAsk records the answer to a question of this run, if that is still open.
func (e *engine) closeAsk(q *run.Ask, a run.Answer) error {
	value, err := valueOf(q, a)
	if err != nil {
		return err
	}
	e.rec.ledger.mu.Lock()
	defer e.rec.ledger.mu.Unlock()
	if e.rec.state.Ask(q.ID) == nil {
		return nil
	}
	return e.rec.recordLocked([]Event{&Answered{Ask: q, Answer: a}}, &run.Answered{Answer: a, Value: value})
}

// warnOfUnused shows which answers came too late: a question that a server asked in an open call
// ends with the process of the call.
func (e *engine) warnOfUnused(answers []run.Answer) {
	for _, q := range run.Open(e.rec.state) {
		if !q.Survives && slices.ContainsFunc(answers, func(a run.Answer) bool { return a.Ask == q.ID }) {
			e.rec.show(&Warning{Text: fmt.Sprintf(unused, q.ID, cmp.Or(q.Tool, q.Server))})
		}
	}
}

// unused is the warning that an answer reached no server.
const unused = "the answer to the question %s about %s was not used: the call that asked ended with its process"

// answeredBelow records an answer to a question of a sub-agent, which goes on then.
func (e *engine) answeredBelow(a run.Answer) error {
	call, sub := e.asksBelow(a.Ask)
	if sub == nil {
		return nil
	}
	child := e.child(e.ctx, call, sub)
	defer child.visits.end()
	if err := child.answered(a); err != nil || child.rec.state.Status != run.Waiting {
		return err
	}
	return child.rec.record(nil, &run.Woken{})
}

// asksBelow finds the sub-agent that a question comes from, or one that it works for.
func (e *engine) asksBelow(ask string) (call string, sub *SubAgent) {
	e.rec.read(func(s *run.State) {
		for _, c := range s.Calls {
			if c.Child != nil && slices.ContainsFunc(run.Open(c.Child), func(q *run.Ask) bool { return q.ID == ask }) {
				call, sub = c.ID, e.agent.sub(c)
			}
		}
	})
	return call, sub
}

// valueOf is the answer as the server gets it, nil if no server waits for it.
func valueOf(q *run.Ask, a run.Answer) (json.RawMessage, error) {
	if q.Elicit == nil {
		return nil, nil
	}
	result, err := q.Elicited(a)
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

// goOn goes on with a call if all its questions are answered.
func (w *work) goOn(c *run.Call) (func() error, error) {
	round, _, err := roundOf(c)
	if err != nil {
		return nil, err
	}
	waits, sample := false, []string(nil)
	for _, key := range keysOf(round) {
		_, answered := c.Answers[key]
		review, reviewed := c.Reviews[key]
		switch {
		case answered:
		case !reviewed:
			waits = true
		case review.Answer.Action == run.Allow:
			sample = append(sample, key)
		default:
			return nil, w.notAllowed(c, review.Answer)
		}
	}
	switch {
	case !w.sched.room():
		return nil, nil
	case len(sample) > 0:
		return w.sample(c, round, sample)
	case waits:
		return nil, nil
	}
	return w.again(c)
}

// again sends a call: for the first time, or with the answers to its round.
func (w *work) again(c *run.Call) (func() error, error) {
	j := w.job(c)
	if j.err != nil {
		return nil, w.refuse(j, j.err)
	}
	if c.Task != nil {
		return w.await(c)
	}
	if len(c.Round) == 0 {
		return w.intend(c, j, (*job).run)
	}
	round, answers, err := roundOf(c)
	if err != nil {
		return nil, err
	}
	return w.intend(c, j, func(j *job, ctx context.Context, opts callOptions) *adapter.Result {
		return j.call.Continue(ctx, round, answers, opts...)
	})
}

// roundOf is the round of a call with its answers, nil if it has none.
func roundOf(c *run.Call) (*mcp.InputRequired, map[string]any, error) {
	if len(c.Round) == 0 {
		return nil, nil, nil
	}
	round := new(mcp.InputRequired)
	if err := json.Unmarshal(c.Round, round); err != nil {
		return nil, nil, fmt.Errorf("read the questions of server %q: %w", c.Server, err)
	}
	answers := make(map[string]any, len(c.Answers))
	for key, value := range c.Answers {
		answers[key] = value
	}
	return round, answers, nil
}

// suspend records that the run waits.
func (e *engine) suspend() error {
	var wake time.Time
	asks := run.Open(e.rec.state)
	for _, q := range asks {
		if !q.Expires.IsZero() && (wake.IsZero() || q.Expires.Before(wake)) {
			wake = q.Expires
		}
	}
	if e.parent == nil && e.rec.ledger.journal == nil && e.atHandFunc() == nil {
		e.rec.show(&Warning{Text: notKept})
	}
	return e.rec.record([]Event{&Suspended{Asks: asks, Wake: wake}}, &run.Suspended{Wake: wake})
}

// notKept is the warning that only the caller can go on with a run that waits.
const notKept = "the run waits for answers, and nothing keeps it: Options.Answer and Options.Store are nil; " +
	"set one of them, or go on with Result.State by Agent.ResumeState"

// wake takes answers and the end of questions into a waiting run, which goes on if
// there are any.
func (e *engine) wake(answers []run.Answer) error {
	now, goes := time.Now(), len(answers) > 0
	e.warnOfUnused(answers)
	for _, a := range refusalsFirst(answers) {
		for _, a := range append([]run.Answer{a}, e.forTree(a)...) {
			if err := e.answered(a); err != nil {
				return err
			}
		}
	}
	for _, q := range run.Open(e.rec.state) {
		end := expired(q, now)
		switch {
		case !q.Survives:
			end = cancelled(q, "the process that asked has ended")
		case q.Expires.IsZero() || now.Before(q.Expires):
			continue
		}
		if err := e.answered(end); err != nil {
			return err
		}
		goes = true
	}
	if e.rec.state.Status != run.Waiting || !goes {
		return nil
	}
	return e.rec.record(nil, &run.Woken{})
}

// refusalsFirst puts refusals before other answers: a sign-in that a person accepts is for
// all calls without an answer. The first answer to a question counts.
func refusalsFirst(answers []run.Answer) []run.Answer {
	var refusals, others []run.Answer
	asked := map[string]bool{}
	for _, a := range answers {
		switch {
		case asked[a.Ask]:
		case a.Action == run.Decline || a.Action == run.Cancel:
			refusals = append(refusals, a)
		default:
			others = append(others, a)
		}
		asked[a.Ask] = true
	}
	return append(refusals, others...)
}

// unanswered is the reason of an answer that no person has given.
const unanswered = "no person answered in time"

// expired is the answer to a question that came to its end.
func expired(q *run.Ask, now time.Time) run.Answer {
	a := run.Answer{Ask: q.ID, Reason: unanswered, At: now.UTC().Truncate(time.Millisecond)}
	switch q.Kind {
	case run.AskApproval, run.AskSampling:
		a.Action = run.Deny
	case run.AskDoubt:
		a.Action = run.Ran
	default:
		a.Action = run.Cancel
	}
	return a
}
