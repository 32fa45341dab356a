package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// person asks the open questions of a turn through Options.Person.Reply, except those for which a call
// waits ([heldQuestions]).
type person struct {
	shared
	prompts map[string]context.CancelFunc // ends the wait for a reply, by the question's id; used by the scheduler's goroutine
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
	var reply *run.Reply
	var err error
	if q.Kind == run.QuestionSignIn {
		reply, err = p.rec.writer.signIns.ask(ctx, q, p.questions.askPerson)
	} else {
		reply, err = p.questions.askPerson(ctx, q)
	}
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

// replyError wraps an error of Options.Person.Reply.
func replyError(q *run.Question, err error) error {
	return fmt.Errorf("answer the question about %s: %w", cmp.Or(q.Tool, q.Server), err)
}

// neededSignIn returns the sign-in that a person has to make before a call can be made or the wait
// for a task can continue. The server has not accepted the call. After maxTries calls there is none.
func (s *sender) neededSignIn(c *ledger.Call, result *adapter.Result) (*mcp.SignInError, bool) {
	needed, ok := errors.AsType[*mcp.SignInError](result.Err)
	if !ok {
		return nil, false
	}
	isTask := false
	s.rec.read(func(s *ledger.State) { isTask = s.Call(c.ID).Task != nil })
	mayContinue := result.Unsent() || isTask
	wasAwaited := c.At == ledger.CallAtSignIn && isTask // a task is awaited once after each sign-in
	return needed, mayContinue && !wasAwaited && c.Tries < maxTries
}

// resumeAfterSignIn makes a call again, or ends it, after a person's reply about a sign-in.
func resumeAfterSignIn(t *turn, c *ledger.Call) (func() error, error) {
	switch {
	case c.Reply == nil:
		return nil, nil
	case c.Reply.Action == run.ActionAccept:
		return t.send(c)
	}
	effect := "Nothing was done."
	if c.Task != nil || len(c.Round) > 0 || c.Lost { // an earlier attempt may have reached the server
		effect = givenUp
	}
	j := t.tools.job(c)
	text := "Error: the user did not sign in at the tool's server. " + effect
	return nil, t.sender.recordOutcome(j, j.errorResult(text, mcp.ErrRejected), 0)
}

// signIns are the sign-ins that a person is being asked for: each only once at a time in a run
// and its sub-agents.
type signIns struct{ asked sync.Map } // of *askedSignIn, by signIn

// signIn is what a person does at a server, for all calls that need it.
type signIn struct{ server, url string }

func newSignIn(q *run.Question) signIn { return signIn{q.Server, q.URL} }

// askedSignIn is a question for a sign-in that is being asked.
type askedSignIn struct {
	done  chan struct{} // closed at its end; before that, the other fields are set
	reply *run.Reply    // nil: there is none
	err   error
}

// ask returns the result of ask, unless the person is already being asked for the same sign-in: then it
// waits, and returns that reply, an acceptance or nil. After a refusal or a failure the next caller asks.
// The error is the cause of a context that ends before.
func (s *signIns) ask(
	ctx context.Context, q *run.Question, ask func(context.Context, *run.Question) (*run.Reply, error),
) (*run.Reply, error) {
	for {
		own := &askedSignIn{done: make(chan struct{})}
		current, isOther := s.asked.LoadOrStore(newSignIn(q), own)
		if !isOther {
			defer func() {
				s.asked.Delete(newSignIn(q))
				close(own.done)
			}()
			own.reply, own.err = ask(ctx, q)
			return own.reply, own.err
		}
		question := current.(*askedSignIn)
		select {
		case <-question.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		switch reply := question.reply; {
		case reply == nil && question.err == nil:
			return nil, nil
		case reply != nil && reply.Action == run.ActionAccept:
			return signInReply(q, reply), nil
		}
	}
}

// signInReply converts the reply to another question for the same sign-in.
func signInReply(q *run.Question, a *run.Reply) *run.Reply {
	return &run.Reply{Question: q.ID, Action: a.Action, By: a.By, At: a.At}
}
