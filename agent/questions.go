package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/replydata"
)

// openQuestions opens the questions of a run, and closes them with their replies. It asks nobody
// except through [Person.Reply].
type openQuestions struct {
	rec    *recorder
	agent  *recipe
	parent *openQuestions // the questions of the run that a sub-agent works for; nil at the root
}

// child returns the questions of the sub-agent that works on a call.
func (o *openQuestions) child(call string, sub *subAgent) *openQuestions {
	return &openQuestions{rec: o.rec.child(call, sub.tool.Definition().Name), agent: sub.inherit(o.agent), parent: o}
}

// add opens a question.
func (o *openQuestions) add(q *run.Question) error { return o.addAll(nil, []*run.Question{q}) }

// addAll records changes and opens questions together. It returns an error if too many questions
// would be open.
func (o *openQuestions) addAll(changes []ledger.Change, questions []*run.Question) error {
	o.rec.writer.mu.Lock()
	defer o.rec.writer.mu.Unlock()
	return o.addLocked(changes, questions)
}

// addLocked is addAll for a caller that holds the writer's lock. It gives each question its id, its
// path, and the time when it expires: by Person.QuestionTTL, unless the question has an earlier one.
func (o *openQuestions) addLocked(changes []ledger.Change, questions []*run.Question) error {
	root := o.rec.writer.root
	open := len(ledger.Open(root))
	if limit := root.Limits.Questions; limit >= 0 && open+len(questions) > limit {
		return fmt.Errorf("more than %d questions are open (Limits.Questions)", limit)
	}
	var events []Event
	for _, q := range questions {
		q.ID = "ask_" + newKey()
		q.Path = o.rec.path
		q.Created = time.Now().UTC().Truncate(time.Millisecond)
		end := q.Created.Add(o.agent.opts.Person.QuestionTTL)
		if end.After(q.Created) && (q.Expires.IsZero() || end.Before(q.Expires)) {
			q.Expires = end
		}
		changes = append(changes, &ledger.Opened{Question: *q})
		events = append(events, &Asked{Question: q})
	}
	return o.rec.recordLocked(events, changes...)
}

// fromServer returns a question that a server asks during a call; call is nil if the server does
// not say which. The question gets its own id when it is opened.
func (o *openQuestions) fromServer(server string, call *Call) *run.Question {
	q := &run.Question{ID: "now", Server: server, Path: o.rec.path}
	if call != nil {
		q.Call, q.Tool = call.ID, call.Name
	}
	return q
}

// replyFunc returns Options.Person.Reply of the agent or of the nearest parent.
func (o *openQuestions) replyFunc() func(context.Context, *run.Question) (run.Reply, error) {
	for at := o; at != nil; at = at.parent {
		if reply := at.agent.opts.Person.Reply; reply != nil {
			return reply
		}
	}
	return nil
}

// askPerson calls Options.Person.Reply and completes its reply. It returns nil if there is none. If
// the store has got a reply meanwhile, that is the first one, and counts. A reply that does not fit
// the question is an error.
func (o *openQuestions) askPerson(ctx context.Context, q *run.Question) (*run.Reply, error) {
	var reply run.Reply
	err := guard("answer callback", func() (err error) {
		asked := *q
		reply, err = o.replyFunc()(ctx, &asked)
		return err
	})
	if err != nil || reply.Action == "" {
		return nil, err
	}
	reply.Question = cmp.Or(reply.Question, q.ID)
	if reply.At.IsZero() {
		reply.At = time.Now().UTC().Truncate(time.Millisecond)
	}
	if err := run.CheckReply(q, reply, time.Now()); err != nil {
		if first := o.rec.writer.replies.find(ctx, q.ID, 0); first != nil {
			return first, nil
		}
		return nil, err
	}
	return o.rec.writer.replies.add(ctx, &reply), nil
}

// close records the reply to a question of this run or its sub-agents, if it is still open. Otherwise
// it does nothing.
func (o *openQuestions) close(reply run.Reply) error {
	if q := o.rec.question(reply.Question); q != nil {
		return o.closeOwn(q, reply)
	}
	return o.closeInChild(reply)
}

// closeOwn records the reply to a question of this run, if it is still open.
func (o *openQuestions) closeOwn(q *run.Question, reply run.Reply) error {
	var value json.RawMessage // the reply in the form that the server gets, nil if none waits for it
	if q.Elicit != nil {
		result, err := replydata.ElicitResult(q.Elicit, string(reply.Action), reply.Content)
		if err == nil {
			value, err = jsonrpc.Marshal(result)
		}
		if err != nil {
			return err
		}
	}
	o.rec.writer.mu.Lock()
	defer o.rec.writer.mu.Unlock()
	if o.rec.state.Question(q.ID) == nil {
		return nil
	}
	return o.rec.recordLocked([]Event{&Replied{Question: q, Reply: reply}}, &ledger.Replied{Reply: reply, Value: value})
}

// closeInChild records the reply to a question of a sub-agent, which then continues.
func (o *openQuestions) closeInChild(reply run.Reply) error {
	call, sub := o.childWith(reply.Question)
	if sub == nil {
		return nil
	}
	child := o.child(call, sub)
	if err := child.close(reply); err != nil {
		return err
	}
	if child.rec.state.Status != run.StatusWaiting {
		return nil
	}
	return child.rec.record(nil, &ledger.Woken{})
}

// childWith finds the direct sub-agent in whose run, or in a run below it, a question is open.
func (o *openQuestions) childWith(question string) (call string, sub *subAgent) {
	isAsked := func(q *run.Question) bool { return q.ID == question }
	o.rec.read(func(s *ledger.State) {
		for _, c := range s.Calls {
			if c.Child != nil && slices.ContainsFunc(ledger.Open(c.Child), isAsked) {
				call, sub = c.ID, o.agent.subAgent(c)
			}
		}
	})
	return call, sub
}

// suspend records that the run waits, until the first of its questions expires. It warns if only the
// caller can continue it.
func (o *openQuestions) suspend() error {
	var wake time.Time
	questions := ledger.Open(o.rec.state)
	for _, q := range questions {
		if !q.Expires.IsZero() && (wake.IsZero() || q.Expires.Before(wake)) {
			wake = q.Expires
		}
	}
	if o.parent == nil && o.rec.writer.hold == nil && o.replyFunc() == nil {
		o.rec.show(&Warning{Text: waitsInMemory})
	}
	return o.rec.record([]Event{&Suspended{Questions: questions}}, &ledger.Suspended{Wake: wake})
}

// waitsInMemory warns that only the caller can continue a waiting run.
const waitsInMemory = "the run waits for answers, and nothing keeps it: Options.Person.Reply and Options.Durable.Store are nil; " +
	"set one of them, or continue Result.State by Agent.ResumeStateEvents"

// wake adds replies and expiries of questions to a waiting run. The run continues if there are any.
func (o *openQuestions) wake(replies []run.Reply) error {
	o.warnOfUnused(replies)
	for _, reply := range refusalsFirst(replies) {
		for _, r := range append([]run.Reply{reply}, o.signInReplies(reply)...) {
			if err := o.close(r); err != nil {
				return err
			}
		}
	}
	hasClosed, err := o.closeEnded()
	if err != nil {
		return err
	}
	if o.rec.state.Status != run.StatusWaiting || !hasClosed && len(replies) == 0 {
		return nil
	}
	return o.rec.record(nil, &ledger.Woken{})
}

// closeEnded closes the open questions that have expired, or whose process has ended. It reports
// whether there were any.
func (o *openQuestions) closeEnded() (found bool, err error) {
	now := time.Now()
	for _, q := range ledger.Open(o.rec.state) {
		var reply run.Reply
		switch {
		case !q.Survives:
			reply = cancelledReply(q, "the process that asked has ended")
		case !q.Expires.IsZero() && !now.Before(q.Expires):
			reply = expiredReply(q, now)
		default:
			continue
		}
		if err := o.close(reply); err != nil {
			return found, err
		}
		found = true
	}
	return found, nil
}

// warnOfUnused reports replies that came too late: a question that a server asked during a call
// ends with the process that made the call.
func (o *openQuestions) warnOfUnused(replies []run.Reply) {
	for _, q := range ledger.Open(o.rec.state) {
		if !q.Survives && slices.ContainsFunc(replies, func(r run.Reply) bool { return r.Question == q.ID }) {
			o.rec.show(&Warning{Text: fmt.Sprintf(lateReply, q.ID, cmp.Or(q.Tool, q.Server))})
		}
	}
}

// lateReply warns that a reply reached no server.
const lateReply = "the answer to the question %s about %s was not used: the call that asked ended with its process"

// refusalsFirst sorts refusals before other replies, because an accepted sign-in counts for all
// calls that have no reply. The first reply to a question counts.
func refusalsFirst(replies []run.Reply) []run.Reply {
	var refusals, rest []run.Reply
	seen := map[string]bool{}
	for _, r := range replies {
		if seen[r.Question] {
			continue
		}
		seen[r.Question] = true
		if r.Action == run.ActionDecline || r.Action == run.ActionCancel {
			refusals = append(refusals, r)
		} else {
			rest = append(rest, r)
		}
	}
	return append(refusals, rest...)
}

// signInReplies returns an accepted sign-in as replies to the other questions of the run and its
// sub-agents that ask for it.
func (o *openQuestions) signInReplies(reply run.Reply) (replies []run.Reply) {
	if reply.Action != run.ActionAccept {
		return nil
	}
	questions := ledger.Open(o.rec.state)
	isSignIn := func(q *run.Question) bool { return q.ID == reply.Question && q.Kind == run.QuestionSignIn }
	i := slices.IndexFunc(questions, isSignIn)
	if i < 0 {
		return nil
	}
	for _, q := range questions {
		if q.Kind == run.QuestionSignIn && q.ID != reply.Question && newSignIn(q) == newSignIn(questions[i]) {
			replies = append(replies, *signInReply(q, &reply))
		}
	}
	return replies
}

// noReplyInTime is the reason in a reply that no person gave.
const noReplyInTime = "no person answered in time"

// expiredReply returns the reply to an expired question.
func expiredReply(q *run.Question, now time.Time) run.Reply {
	reply := run.Reply{Question: q.ID, Reason: noReplyInTime, At: now.UTC().Truncate(time.Millisecond)}
	switch q.Kind {
	case run.QuestionApproval, run.QuestionSampling:
		reply.Action = run.ActionDeny
	case run.QuestionDoubt:
		reply.Action = run.ActionRan
	default:
		reply.Action = run.ActionCancel
	}
	return reply
}
