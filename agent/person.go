package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// person asks the open questions of a turn through Options.Person.Reply, except those for which a call
// waits ([heldQuestions]).
type person struct {
	questions *openQuestions
	rec       *recorder
	scope     *scope

	prompts map[string]context.CancelFunc // ends the wait for a reply, by the question's id; used by the scheduler's goroutine
}

func newPerson(e *engine, s *scope) *person {
	return &person{questions: e.questions, rec: e.rec, scope: s, prompts: map[string]context.CancelFunc{}}
}

// workItems returns work items that ask open questions, each question once. It ends the wait for replies
// to questions that were closed in another way.
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
	reply, err := p.askShared(ctx, q)
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

// askShared asks a question. A sign-in for which another agent of the run is asking gets the same reply.
func (p *person) askShared(ctx context.Context, q *run.Question) (*run.Reply, error) {
	ask := func() (*run.Reply, error) { return p.questions.askPerson(ctx, q) }
	if q.Kind == run.QuestionSignIn {
		return p.rec.writer.signIns.ask(ctx, q, ask)
	}
	return ask()
}

// replyError wraps an error of Options.Person.Reply.
func replyError(q *run.Question, err error) error {
	return fmt.Errorf("answer the question about %s: %w", cmp.Or(q.Tool, q.Server), err)
}
