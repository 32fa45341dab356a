package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/idle"
	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// gatherer has handlers answer the questions of input rounds.
type gatherer struct {
	*peer
	life   *lifecycle.Lifecycle
	slots  lifecycle.Slots // for handlers, also of the server's requests
	handle handleFunc
	limit  int // of questions at once
}

// reply is the answer to one question of an input round.
type reply struct {
	key    string
	answer json.RawMessage
	err    error
}

// gather answers several questions at once and returns the answers by key. The
// first failure ends it. With [mcp.ErrAnswerLater] there are the answers of the other
// handlers. Handlers that continue then run on goroutines of the lifecycle.
func (g *gatherer) gather(ctx context.Context, questions map[string]mcp.InputRequest, call mcp.CallInfo) (map[string]json.RawMessage, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer idle.From(ctx).Hold()()
	replies := make(chan reply, len(questions))
	for key, q := range questions {
		if err := g.question(ctx, key, q, &call, replies); err != nil {
			return nil, err
		}
	}
	answers := make(map[string]json.RawMessage, len(questions))
	var later error
	for range questions {
		select {
		case r := <-replies:
			switch {
			case r.err == nil:
				answers[r.key] = r.answer
			case errors.Is(r.err, mcp.ErrAnswerLater):
				later = mcp.ErrAnswerLater
			case ctx.Err() != nil:
				return nil, ended(ctx)
			case !g.life.IsOpen():
				return nil, g.life.Cause()
			default:
				return nil, abandoned(questions[r.key].Method, r.err)
			}
		case <-g.life.Closing():
			return nil, g.life.Cause()
		case <-ctx.Done():
			return nil, ended(ctx)
		}
	}
	return answers, later
}

// servingKey marks the context of a handler that has one of these slots. The context
// goes with the handler's own calls, also by way of other clients.
type servingKey struct{ slots lifecycle.Slots }

// question has a handler answer one question. It takes no slot if a handler's own call
// led to it: that one has a slot.
func (g *gatherer) question(ctx context.Context, key string, q mcp.InputRequest, call *mcp.CallInfo, replies chan<- reply) error {
	nested := ctx.Value(servingKey{g.slots}) != nil
	if !nested && !g.slots.Acquire(ctx, g.life.Closing()) {
		if ctx.Err() == nil {
			return g.life.Cause()
		}
		return ended(ctx)
	}
	leave := func() {
		if !nested {
			g.slots.Release()
		}
	}
	started := g.life.StartHost(func() {
		defer leave()
		answer, err := g.handle(ctx, q.Method, q.Params, mcp.Origin{Call: call, Key: key})
		replies <- reply{key, answer, err}
	})
	if !started {
		leave()
		return g.life.Cause()
	}
	return nil
}

// abandoned is the error of a call whose question has no answer: "no error
// encoding exists". What the handler met is not what became of the call: another
// connection that is closed, a deadline of its own. Only a rejection can be told
// from the error.
func abandoned(method string, err error) error {
	question := cmp.Or(excerpt.Cut(method), "a question")
	var r *refusal
	switch {
	case errors.As(err, &r):
		return fmt.Errorf("%w: %s of the server: %s%s", mcp.ErrInvalidResult, question, r.Message, r.hint)
	case errors.Is(err, mcp.ErrRejected):
		return fmt.Errorf("%s of the server: %w", question, &rejected{err})
	}
	return fmt.Errorf("%s of the server: %v", question, err)
}

// rejected is the error of a handler; only a rejection is told apart.
type rejected struct{ err error }

func (r *rejected) Error() string        { return r.err.Error() }
func (r *rejected) Is(target error) bool { return target == mcp.ErrRejected }
