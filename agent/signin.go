package agent

import (
	"context"
	"errors"
	"sync"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// neededSignIn returns the sign-in that a person has to make before a call can be made or the wait
// for a task can continue. The server has not accepted the call. After maxTries calls there is none.
func (s *sender) neededSignIn(c *ledger.Call, result *adapter.Result) (*mcp.SignInError, bool) {
	needed, ok := errors.AsType[*mcp.SignInError](result.Err)
	if !ok {
		return nil, false
	}
	isTask := false
	s.rec.read(func(s *ledger.State) { isTask = s.Call(c.ID).Task != nil })
	wasAwaited := c.At == ledger.CallAtSignIn && isTask // a task is awaited once after each sign-in
	return needed, (result.Unsent() || isTask) && c.Tries < maxTries && !wasAwaited
}

// askSignIn asks a person to sign in. Then the call is made again.
func (s *sender) askSignIn(c *ledger.Call, needed *mcp.SignInError) error {
	return s.questions.add(&run.Question{
		Kind:     run.QuestionSignIn,
		Call:     c.ID,
		Server:   c.Server,
		Tool:     c.Name,
		URL:      needed.URL,
		Survives: true,
	})
}

// resumeAfterSignIn makes a call again, or ends it, after a person's reply about a sign-in.
func resumeAfterSignIn(t *turn, c *ledger.Call) (func() error, error) {
	switch {
	case c.Reply == nil:
		return nil, nil
	case c.Reply.Action == run.ActionAccept:
		return t.sendAgain(c)
	}
	effect := "Nothing was done."
	if c.Task != nil || len(c.Round) > 0 {
		effect = "The call was given up."
	}
	j := t.tools.job(c)
	text := "Error: the user did not sign in at the tool's server. " + effect
	return nil, t.sender.recordOutcome(j, j.errorResult(text, mcp.ErrRejected), 0)
}

// signIns are the sign-ins that a person is being asked for: each only once at a time in a run
// and its sub-agents.
type signIns struct {
	mu    sync.Mutex // guards the following field
	asked map[signIn]*askedSignIn
}

// signIn is what a person does at a server, for all calls that need it.
type signIn struct{ server, url string }

func newSignIn(q *run.Question) signIn { return signIn{q.Server, q.URL} }

// askedSignIn is a question for a sign-in that is being asked.
type askedSignIn struct {
	done   chan struct{} // closed at its end; before that, the other fields are set
	reply  *run.Reply    // nil: there is no reply, or the question failed
	failed bool
}

// begin returns the function with which the caller ends its question. If the person is already
// being asked for the same sign-in, it waits and returns the reply instead: an acceptance, or nil
// without a reply. After a refusal or a failure the next caller asks. The error is the cause of a
// context that ends before.
func (s *signIns) begin(
	ctx context.Context, q *run.Question,
) (reply *run.Reply, end func(*run.Reply, error), err error) {
	for {
		other, end := s.join(q)
		if end != nil {
			return nil, end, nil
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
		switch given := other.reply; {
		case given == nil && !other.failed:
			return nil, nil, nil
		case given != nil && given.Action == run.ActionAccept:
			return signInReply(q, given), nil, nil
		}
	}
}

// join returns the current question for the same sign-in, or registers the caller's own and
// returns the function that ends it.
func (s *signIns) join(q *run.Question) (other *askedSignIn, end func(*run.Reply, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := newSignIn(q)
	if other := s.asked[key]; other != nil {
		return other, nil
	}
	if s.asked == nil {
		s.asked = map[signIn]*askedSignIn{}
	}
	mine := &askedSignIn{done: make(chan struct{})}
	s.asked[key] = mine
	return nil, func(reply *run.Reply, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		mine.reply, mine.failed = reply, err != nil
		delete(s.asked, key)
		close(mine.done)
	}
}

// signInReply converts the reply to another question for the same sign-in.
func signInReply(q *run.Question, a *run.Reply) *run.Reply {
	return &run.Reply{Question: q.ID, Action: a.Action, By: a.By, At: a.At}
}
