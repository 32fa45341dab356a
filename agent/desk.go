package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// desk opens the questions of a run, and closes them with their answers. It asks nobody but [Person.Reply].
type desk struct {
	rec   *recorder
	agent *recipe
	above *desk // of the run that a sub-agent works for, nil at the root
}

// below is the desk of the sub-agent that works on a call.
func (d *desk) below(call string, sub *SubAgent) *desk {
	return &desk{rec: d.rec.below(call, sub.Tool().Definition().Name), agent: sub.under(d.agent), above: d}
}

// open opens a question.
func (d *desk) open(q *run.Question) error { return d.openAll(nil, []*run.Question{q}) }

// openAll records changes and opens questions, all at once. Beyond the limit of open
// questions the run fails.
func (d *desk) openAll(changes []ledger.Change, asks []*run.Question) error {
	d.rec.writer.mu.Lock()
	defer d.rec.writer.mu.Unlock()
	return d.openLocked(changes, asks)
}

func (d *desk) openLocked(changes []ledger.Change, asks []*run.Question) error {
	open := len(ledger.Open(d.rec.writer.root))
	if limit := d.rec.writer.root.Limits.Questions; limit >= 0 && open+len(asks) > limit {
		return fmt.Errorf("more than %d questions are open (Limits.Questions)", limit)
	}
	var events []Event
	for _, q := range asks {
		q.ID = "ask_" + newKey()
		q.Created = time.Now().UTC().Truncate(time.Millisecond)
		if end := q.Created.Add(d.agent.opts.Person.QuestionTTL); end.After(q.Created) && (q.Expires.IsZero() || end.Before(q.Expires)) {
			q.Expires = end
		}
		q.Path = d.rec.path
		changes, events = append(changes, &ledger.Opened{Question: *q}), append(events, &Asked{Question: q})
	}
	return d.rec.recordLocked(events, changes...)
}

// askOf makes a question that a server asks in an open call.
func (d *desk) askOf(server string, call *Call) *run.Question {
	q := &run.Question{ID: "now", Server: server, Path: d.rec.path}
	if call != nil {
		q.Call, q.Tool = call.ID, call.Name
	}
	return q
}

// atHandFunc is Options.Person.Reply of the agent or of one that it works for.
func (d *desk) atHandFunc() func(context.Context, *run.Question) (run.Reply, error) {
	for ; d != nil; d = d.above {
		if d.agent.opts.Person.Reply != nil {
			return d.agent.opts.Person.Reply
		}
	}
	return nil
}

// ask asks Options.Person.Reply, and completes what it says. It returns nil if that does not answer.
func (d *desk) ask(ctx context.Context, q *run.Question) (*run.Reply, error) {
	var a run.Reply
	err := guarded("answer callback", func() (err error) {
		asked := *q
		a, err = d.atHandFunc()(ctx, &asked)
		return err
	})
	if err != nil || a.Action == "" {
		return nil, err
	}
	a.Question = cmp.Or(a.Question, q.ID)
	if a.At.IsZero() {
		a.At = time.Now().UTC().Truncate(time.Millisecond)
	}
	return &a, run.Check(q, a, time.Now())
}

// answered records an answer to an open question of this run or its sub-agents.
func (d *desk) answered(a run.Reply) error {
	q := d.rec.question(a.Question)
	if q == nil {
		return d.answeredBelow(a) // or it was closed meanwhile
	}
	return d.closeAsk(q, a)
}

// closeAsk records the answer to a question of this run, if that is still open.
func (d *desk) closeAsk(q *run.Question, a run.Reply) error {
	value, err := valueOf(q, a)
	if err != nil {
		return err
	}
	d.rec.writer.mu.Lock()
	defer d.rec.writer.mu.Unlock()
	if d.rec.state.Question(q.ID) == nil {
		return nil
	}
	return d.rec.recordLocked([]Event{&Replied{Question: q, Reply: a}}, &ledger.Replied{Reply: a, Value: value})
}

// warnOfUnused shows which answers came too late: a question that a server asked in an open call
// ends with the process of the call.
func (d *desk) warnOfUnused(answers []run.Reply) {
	for _, q := range ledger.Open(d.rec.state) {
		if !q.Survives && slices.ContainsFunc(answers, func(a run.Reply) bool { return a.Question == q.ID }) {
			d.rec.show(&Warning{Text: fmt.Sprintf(unused, q.ID, cmp.Or(q.Tool, q.Server))})
		}
	}
}

// unused is the warning that an answer reached no server.
const unused = "the answer to the question %s about %s was not used: the call that asked ended with its process"

// answeredBelow records an answer to a question of a sub-agent, which then continues.
func (d *desk) answeredBelow(a run.Reply) error {
	call, sub := d.asksBelow(a.Question)
	if sub == nil {
		return nil
	}
	child := d.below(call, sub)
	if err := child.answered(a); err != nil || child.rec.state.Status != run.StatusWaiting {
		return err
	}
	return child.rec.record(nil, &ledger.Woken{})
}

// asksBelow finds the sub-agent that a question comes from, or one that it works for.
func (d *desk) asksBelow(ask string) (call string, sub *SubAgent) {
	d.rec.read(func(s *ledger.State) {
		for _, c := range s.Calls {
			if c.Child != nil && slices.ContainsFunc(ledger.Open(c.Child), func(q *run.Question) bool { return q.ID == ask }) {
				call, sub = c.ID, d.agent.sub(c)
			}
		}
	})
	return call, sub
}

// valueOf is the answer as the server gets it, nil if no server waits for it.
func valueOf(q *run.Question, a run.Reply) (json.RawMessage, error) {
	if q.Elicit == nil {
		return nil, nil
	}
	result, err := q.Elicited(a)
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

// suspend records that the run waits.
func (d *desk) suspend() error {
	var wake time.Time
	asks := ledger.Open(d.rec.state)
	for _, q := range asks {
		if !q.Expires.IsZero() && (wake.IsZero() || q.Expires.Before(wake)) {
			wake = q.Expires
		}
	}
	if d.above == nil && d.rec.writer.journal == nil && d.atHandFunc() == nil {
		d.rec.show(&Warning{Text: notKept})
	}
	return d.rec.record([]Event{&Suspended{Questions: asks, Wake: wake}}, &ledger.Suspended{Wake: wake})
}

// notKept is the warning that only the caller can continue a run that waits.
const notKept = "the run waits for answers, and nothing keeps it: Options.Person.Reply and Options.Durable.Store are nil; " +
	"set one of them, or continue Result.State by Agent.ResumeState"

// wake takes answers and the end of questions into a waiting run, which continues if there are
// any.
func (d *desk) wake(answers []run.Reply) error {
	now, goes := time.Now(), len(answers) > 0
	d.warnOfUnused(answers)
	for _, a := range refusalsFirst(answers) {
		for _, a := range append([]run.Reply{a}, d.forTree(a)...) {
			if err := d.answered(a); err != nil {
				return err
			}
		}
	}
	for _, q := range ledger.Open(d.rec.state) {
		end := expired(q, now)
		switch {
		case !q.Survives:
			end = cancelled(q, "the process that asked has ended")
		case q.Expires.IsZero() || now.Before(q.Expires):
			continue
		}
		if err := d.answered(end); err != nil {
			return err
		}
		goes = true
	}
	if d.rec.state.Status != run.StatusWaiting || !goes {
		return nil
	}
	return d.rec.record(nil, &ledger.Woken{})
}

// refusalsFirst puts refusals before other answers: a sign-in that a person accepts is for
// all calls without an answer. The first answer to a question counts.
func refusalsFirst(answers []run.Reply) []run.Reply {
	var refusals, others []run.Reply
	asked := map[string]bool{}
	for _, a := range answers {
		switch {
		case asked[a.Question]:
		case a.Action == run.ActionDecline || a.Action == run.ActionCancel:
			refusals = append(refusals, a)
		default:
			others = append(others, a)
		}
		asked[a.Question] = true
	}
	return append(refusals, others...)
}

// forTree returns the same answer to the other questions of the run and its sub-agents, if it accepts a sign-in
// that these are for, too.
func (d *desk) forTree(a run.Reply) (others []run.Reply) {
	if a.Action != run.ActionAccept {
		return nil
	}
	asks := ledger.Open(d.rec.state)
	i := slices.IndexFunc(asks, func(q *run.Question) bool { return q.ID == a.Question && q.Kind == run.QuestionSignIn })
	if i < 0 {
		return nil
	}
	for _, q := range asks {
		if q.Kind == run.QuestionSignIn && q.ID != a.Question && signInOf(q) == signInOf(asks[i]) {
			others = append(others, *signInAnswer(q, &a))
		}
	}
	return others
}

// unanswered is the reason of an answer that no person has given.
const unanswered = "no person answered in time"

// expired is the answer to a question that came to its end.
func expired(q *run.Question, now time.Time) run.Reply {
	a := run.Reply{Question: q.ID, Reason: unanswered, At: now.UTC().Truncate(time.Millisecond)}
	switch q.Kind {
	case run.QuestionApproval, run.QuestionSampling:
		a.Action = run.ActionDeny
	case run.QuestionDoubt:
		a.Action = run.ActionRan
	default:
		a.Action = run.ActionCancel
	}
	return a
}
