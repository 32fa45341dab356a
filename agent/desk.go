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

// desk opens the questions of a run, and closes them with their replies. It asks nobody except
// through [Person.Reply].
type desk struct {
	rec   *recorder
	agent *recipe
	above *desk // of the run that a sub-agent works for, nil at the root
}

// below returns the desk of the sub-agent that works on a call.
func (d *desk) below(call string, sub *SubAgent) *desk {
	return &desk{rec: d.rec.below(call, sub.Tool().Definition().Name), agent: sub.under(d.agent), above: d}
}

// open opens a question.
func (d *desk) open(q *run.Question) error { return d.openAll(nil, []*run.Question{q}) }

// openAll records changes and opens questions together. It fails the run if too many questions
// are open.
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

// askOf returns a question that a server asks during a call.
func (d *desk) askOf(server string, call *Call) *run.Question {
	q := &run.Question{ID: "now", Server: server, Path: d.rec.path}
	if call != nil {
		q.Call, q.Tool = call.ID, call.Name
	}
	return q
}

// replyFunc returns Options.Person.Reply of the agent or of the nearest parent.
func (d *desk) replyFunc() func(context.Context, *run.Question) (run.Reply, error) {
	for at := d; at != nil; at = at.above {
		if reply := at.agent.opts.Person.Reply; reply != nil {
			return reply
		}
	}
	return nil
}

// ask calls Options.Person.Reply and completes its reply. It returns nil if there is none.
func (d *desk) ask(ctx context.Context, q *run.Question) (*run.Reply, error) {
	var a run.Reply
	err := guarded("answer callback", func() (err error) {
		asked := *q
		a, err = d.replyFunc()(ctx, &asked)
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

// answered records a reply to an open question of this run or its sub-agents.
func (d *desk) answered(a run.Reply) error {
	q := d.rec.question(a.Question)
	if q == nil {
		return d.answeredBelow(a) // or it was closed in the meantime
	}
	return d.closeAsk(q, a)
}

// closeAsk records the reply to a question of this run, if that is still open.
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

// warnOfUnused reports replies that came too late: a question that a server asked during a call
// ends with the process that made the call.
func (d *desk) warnOfUnused(answers []run.Reply) {
	for _, q := range ledger.Open(d.rec.state) {
		if !q.Survives && slices.ContainsFunc(answers, func(a run.Reply) bool { return a.Question == q.ID }) {
			d.rec.show(&Warning{Text: fmt.Sprintf(lateReply, q.ID, cmp.Or(q.Tool, q.Server))})
		}
	}
}

// lateReply warns that a reply reached no server.
const lateReply = "the answer to the question %s about %s was not used: the call that asked ended with its process"

// answeredBelow records a reply to a question of a sub-agent, which then continues.
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

// asksBelow finds the direct sub-agent that asks a question, or that works above the one that
// does.
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

// valueOf returns the reply as the server gets it, nil if no server waits for it.
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
	if d.above == nil && d.rec.writer.journal == nil && d.replyFunc() == nil {
		d.rec.show(&Warning{Text: waitsInMemory})
	}
	return d.rec.record([]Event{&Suspended{Questions: asks, Wake: wake}}, &ledger.Suspended{Wake: wake})
}

// waitsInMemory warns that only the caller can continue a waiting run.
const waitsInMemory = "the run waits for answers, and nothing keeps it: Options.Person.Reply and Options.Durable.Store are nil; " +
	"set one of them, or continue Result.State by Agent.ResumeState"

// wake adds replies and expiries of questions to a waiting run. The run continues if there are
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

// refusalsFirst sorts refusals before other replies, because an accepted sign-in settles all
// calls that have no reply. The first reply to a question counts.
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

// forTree returns the same reply for other questions of the run and its sub-agents that ask for
// the same sign-in, if it accepts it.
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

// unanswered is the reason in a reply that no person gave.
const unanswered = "no person answered in time"

// expired returns the reply to an expired question.
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
