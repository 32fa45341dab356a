package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/idle"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// LegacyQuestions say what becomes of a question that a server of the legacy era, up to
// revision 2025-11-25, asks in an open call, if its client has no Elicitation handler. Such a question ends with its call, and so with the process.
//
// A turn takes as many of them as Limits.Questions allows to be open. Beyond it the run fails.
type LegacyQuestions struct {
	// Hold is how long the call waits for an answer by [Agent.Reply], which may come from any
	// process, if the person at hand gives none. The question is one of the run meanwhile
	// (run.Question.Survives is false). After that time, or that of QuestionTTL if it is shorter, the
	// server is told that the person cancelled. Default 5 min; negative: it is told at once
	// that the person was not asked. A run that is not kept is never held:
	// without Options.Person.Reply the server is told that the person was not asked, and a [Warning] says so.
	Hold time.Duration

	// Park reports whether a tool asks before it does anything, so that a call of it can be
	// made twice. The server is then told that the person cancelled, the result of the call is
	// dropped, and the run waits without the call. After the answer the call is made again. The
	// equal question (mode, message, form, URL) is answered from the run then, and another one
	// waits in the same way. The tool has the server's own name. A server that has several calls
	// under way may not say which one asks: that question is held. Default nil: no tool.
	Park func(server, tool string) bool
}

const (
	defaultHold = 5 * time.Minute

	// pollEvery is how often the journal is asked for answers to held questions.
	pollEvery = time.Second
)

// inOpenCall has a question answered that a server asks in an open call. The result is nil
// if no person answers.
func (p *person) inOpenCall(ctx context.Context, q *Elicitation) (*mcp.ElicitResult, error) {
	ask := p.desk.askOf(q.Server, q.Call)
	ask.Kind, ask.Elicit = kindOf(q.Params), q.Params
	if p.parks(q.Call) {
		return p.park(ask)
	}
	answer, err := p.whileCalled(ctx, ask)
	if err == nil && answer == nil && p.rec.writer.journal == nil && p.desk.atHandFunc() == nil {
		p.rec.show(&Warning{Text: fmt.Sprintf(notAsked, q.Server, cmp.Or(ask.Tool, "one of its tools"))})
	}
	if err != nil || answer == nil {
		return nil, err
	}
	return ask.Elicited(*answer)
}

// whileCalled asks a question of a server that waits for the answer in an open call. In a run that is kept the question is one
// of the run meanwhile. The answer is nil if there is none.
func (p *person) whileCalled(ctx context.Context, q *run.Question) (*run.Reply, error) {
	if err := p.countQuestion(q.Server); err != nil {
		return nil, err
	}
	if p.rec.writer.journal != nil && p.agent.opts.Person.Legacy.Hold >= 0 {
		return p.holdQuestion(ctx, q)
	}
	return p.atHand(ctx, q)
}

// notAsked is the warning that a question reached no person.
const notAsked = "server %q asked the user in a call of %s, and was told that the user was not asked: Options.Person.Reply is nil, " +
	"and the run is not kept; set Options.Person.Reply, or Options.Durable.Store for an answer from elsewhere"

// countQuestion counts a question of an open call. Beyond the limit the run fails.
func (p *person) countQuestion(server string) error {
	limit := p.rec.writer.root.Limits.Questions
	p.mu.Lock()
	p.asked++
	over := limit >= 0 && p.asked > limit
	p.mu.Unlock()
	if !over {
		return nil
	}
	return p.scope.fail(fmt.Errorf("servers have asked more than %d questions in open calls of a turn, server %q the last one (Limits.Questions)", limit, server))
}

// holdQuestion keeps a question open while its call waits. The answer is nil if the call
// is over.
func (p *person) holdQuestion(ctx context.Context, q *run.Question) (*run.Reply, error) {
	hold := cmp.Or(p.agent.opts.Person.Legacy.Hold, defaultHold)
	q.Expires = time.Now().Add(hold).UTC().Truncate(time.Millisecond)
	if opened, err := p.openInCall(q, ledger.CallSent, ledger.CallTasked, ledger.CallInRound); err != nil || !opened {
		return nil, err
	}
	defer idle.From(ctx).Hold()()
	answer, err := p.awaitAnswer(ctx, q)
	switch {
	case p.rec.ended() != nil:
		return nil, p.rec.ended() // the next process closes the question
	case answer == nil && p.scope.failed() != nil:
		gone := cancelled(q, "the run ends with an error")
		answer = &gone
	case err != nil:
		gone := cancelled(q, "the server does not wait for the answer any more")
		answer = &gone
	}
	if err := errors.Join(p.desk.closeAsk(q, *answer), p.rec.commit()); err != nil {
		return nil, err
	}
	return answer, err
}

// openInCall opens a question of a call that is at one of the given places, or of one that
// the server does not name. ok is false if that is over.
func (p *person) openInCall(q *run.Question, at ...ledger.CallAt) (ok bool, err error) {
	p.rec.writer.mu.Lock()
	c := p.rec.state.Call(q.Call)
	ok = !p.closed && p.rec.state.Status == run.StatusRunning && (q.Call == "" || c != nil && slices.Contains(at, c.At))
	if ok {
		err = p.desk.openLocked(nil, []*run.Question{q})
	}
	p.rec.writer.mu.Unlock()
	if err != nil {
		return false, p.scope.fail(err)
	}
	return ok, p.rec.commit()
}

// awaitAnswer waits for the answer to a held question, from the person at hand and then
// from the journal. After its time the question is cancelled.
func (p *person) awaitAnswer(ctx context.Context, q *run.Question) (*run.Reply, error) {
	waiting, cancel := context.WithDeadline(ctx, q.Expires)
	defer cancel()
	if answer, err := p.atHand(waiting, q); answer != nil || p.scope.failed() != nil {
		return answer, err
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if answer := p.rec.writer.given(waiting, q.ID, pollEvery); answer != nil {
			return answer, nil
		}
		if p.rec.question(q.ID) == nil {
			return nil, errOver
		}
		select {
		case <-tick.C:
			continue
		case <-waiting.Done():
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		answer := p.rec.writer.given(ctx, q.ID, 0)
		if answer == nil {
			late := expired(q, time.Now())
			answer = &late
		}
		return answer, nil
	}
}

// given returns the answer to a question that the journal keeps, nil if it has none. The
// journal is asked if it was not for some time, by one goroutine.
func (l *writer) given(ctx context.Context, ask string, after time.Duration) *run.Reply {
	l.mu.Lock()
	if !l.polling && time.Since(l.polled) >= after {
		l.polling, l.polled = true, time.Now()
		l.mu.Unlock()
		var answers []run.Reply
		err := guarded("the journal", func() (err error) {
			answers, err = l.journal.Replies(ctx)
			return err
		})
		l.mu.Lock()
		if l.polling = false; err == nil { // else it is asked again
			l.kept = answers
		}
	}
	defer l.mu.Unlock()
	for i := range l.kept {
		if l.kept[i].Question == ask {
			answer := l.kept[i]
			return &answer
		}
	}
	return nil
}

// closeHeld cancels the questions that outlive the calls of the turn, and lets none be opened.
func (p *person) closeHeld() error {
	p.rec.writer.mu.Lock()
	p.closed = true
	asks := slices.Clone(p.rec.state.Questions)
	p.rec.writer.mu.Unlock()
	for _, q := range asks {
		if !q.Survives {
			if err := p.desk.closeAsk(q, cancelled(q, "the call that asked is over")); err != nil {
				return err
			}
		}
	}
	return nil
}

// cancelled is the answer to a question that no server waits for.
func cancelled(q *run.Question, why string) run.Reply {
	a := expired(q, time.Now())
	a.Reason = why
	return a
}
