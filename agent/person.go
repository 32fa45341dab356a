package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// person asks the questions of a turn through Options.Person.Reply, and those that servers ask in open
// calls, which wait for their reply (legacy.go).
type person struct {
	questions *openQuestions
	rec       *recorder
	agent     *recipe
	scope     *scope

	prompts map[string]context.CancelFunc // by id of the question: ends the wait for its reply
	closed  bool                          // no more questions are held; guarded by writer.mu

	mu    sync.Mutex // guards the following field
	asked int        // number of questions that servers have asked in calls of this turn
}

func newPerson(e *engine, s *scope) *person {
	return &person{
		questions: e.questions,
		rec:       e.rec,
		agent:     e.agent,
		scope:     s,
		prompts:   map[string]context.CancelFunc{},
	}
}

// workItems returns work items that ask open questions through Options.Person.Reply, each question once. It
// ends the wait for replies to closed questions. Questions in open calls are asked by askNow instead.
func (p *person) workItems() (launch []workItem) {
	if p.questions.replyFunc() == nil {
		return nil
	}
	var questions []*run.Question
	p.rec.read(func(s *ledger.State) { questions = slices.Clone(s.Questions) })
	for id, cancel := range p.prompts {
		if !slices.ContainsFunc(questions, func(q *run.Question) bool { return q.ID == id }) {
			cancel()
			delete(p.prompts, id)
		}
	}
	for _, q := range questions {
		if p.prompts[q.ID] != nil || !q.Survives {
			continue
		}
		ctx, cancel := context.WithCancel(p.scope.ctx)
		p.prompts[q.ID] = cancel
		launch = append(launch, workItem{report: report{key: q.ID}, do: func() error { return p.ask(ctx, q) }})
	}
	return launch
}

// ask asks a question and records the reply. Without a reply the question stays open; one that has
// expired meanwhile is closed. An error of Options.Person.Reply fails the run.
func (p *person) ask(ctx context.Context, q *run.Question) error {
	reply, err := p.askOnce(ctx, q)
	switch {
	case p.rec.endError() != nil:
		return p.rec.endError()
	case p.rec.question(q.ID) == nil:
		return nil // it was closed in the meantime
	case errors.Is(err, run.ErrExpired):
		return p.questions.close(expiredReply(q, time.Now()))
	case err != nil:
		return replyError(q, err)
	case reply == nil:
		return nil
	}
	return p.questions.close(*reply)
}

// askOnce asks a question. A sign-in that another agent of the run is asking for gets the same reply.
func (p *person) askOnce(ctx context.Context, q *run.Question) (reply *run.Reply, err error) {
	if q.Kind == run.QuestionSignIn {
		other, end, ended := p.rec.writer.signIns.begin(ctx, q)
		if end == nil {
			return other, ended
		}
		defer func() { end(reply, err) }()
	}
	return p.questions.askPerson(ctx, q)
}

// replyError is the error of Options.Person.Reply, which fails the run.
func replyError(q *run.Question, err error) error {
	return fmt.Errorf("answer the question about %s: %w", cmp.Or(q.Tool, q.Server), err)
}

// askNow asks a question that a server waits for. It returns nil if there is no reply. An error
// fails the run, unless the context has ended or the question has expired.
func (p *person) askNow(ctx context.Context, q *run.Question) (*run.Reply, error) {
	if p.questions.replyFunc() == nil {
		return nil, nil
	}
	reply, err := p.questions.askPerson(ctx, q)
	switch {
	case err == nil:
		return reply, nil
	case ctx.Err() != nil || errors.Is(err, run.ErrExpired):
		return nil, err
	}
	return nil, p.scope.fail(replyError(q, err))
}
