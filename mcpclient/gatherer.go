package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// gatherer lets handlers answer the questions that come in results: of a round, of a task, or in an
// error about URLs.
type gatherer struct {
	*peer
	slots  lifecycle.Slots // shared with the handlers of the server's requests
	handle handleFunc
}

// reply is the answer to the question with this key.
type reply struct {
	key    string
	answer json.RawMessage
	err    error
}

// gather answers several questions concurrently and returns the answers by key. It returns at the first failure, which ends the
// contexts of the other handlers, but does not wait for them. After [mcp.ErrAnswerLater] it waits for the other handlers, and
// returns their answers with that error.
func (g *gatherer) gather(
	ctx context.Context, questions map[string]mcp.InputRequest, call mcp.CallInfo,
) (map[string]json.RawMessage, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer bound.From(ctx).Hold()()
	replies := make(chan reply, len(questions))
	for key, q := range questions {
		if err := g.ask(ctx, key, q, &call, replies); err != nil {
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
				return nil, contextError(ctx)
			case !g.life.IsOpen():
				return nil, g.life.Cause()
			default:
				return nil, unansweredError(questions[r.key].Method, r.err)
			}
		case <-g.life.Closing():
			return nil, g.life.Cause()
		case <-ctx.Done():
			return nil, contextError(ctx)
		}
	}
	return answers, later
}

// servingKey marks the context of a handler that holds one of the slots. The handler's own calls have that context, even those
// through other clients.
type servingKey struct{ slots lifecycle.Slots }

// ask lets a handler answer one question, on a goroutine. It takes no slot if the question belongs
// to a handler's own call, which has a slot.
func (g *gatherer) ask(ctx context.Context, key string, q mcp.InputRequest, call *mcp.CallInfo, replies chan<- reply) error {
	nested := ctx.Value(servingKey{g.slots}) != nil
	if !nested && !g.slots.Acquire(ctx, g.life.Closing()) {
		if ctx.Err() == nil {
			return g.life.Cause()
		}
		return contextError(ctx)
	}
	release := func() {
		if !nested {
			g.slots.Release()
		}
	}
	started := g.life.StartHost(func() {
		defer release()
		r := reply{key: key, err: errExited}
		defer func() { replies <- r }()
		r.answer, r.err = g.handle(ctx, q.Method, q.Params, mcp.Origin{Call: call, Key: key})
	})
	if !started {
		release()
		return g.life.Cause()
	}
	return nil
}

// unansweredError returns the error of a call whose question got no answer. The server learns
// nothing of it: "no error encoding exists". The handler's error is only quoted, because it is not
// the outcome of the call: the handler may use another connection that is closed, or have a deadline
// of its own. Only [mcp.ErrRejected] stays visible to errors.Is.
func unansweredError(method string, err error) error {
	question := cmp.Or(excerpt.Line(method, excerpt.Max), "a question")
	r, refused := errors.AsType[*refusal](err)
	switch {
	case refused:
		return fmt.Errorf("%w: %s of the server: %s%s", mcp.ErrInvalidResult, question, r.answer.Message, r.hint)
	case errors.Is(err, mcp.ErrRejected):
		return fmt.Errorf("%s of the server: %w", question, &rejectedError{err})
	}
	return fmt.Errorf("%s of the server: %v", question, err)
}

type rejectedError struct{ err error }

func (r *rejectedError) Error() string        { return r.err.Error() }
func (r *rejectedError) Is(target error) bool { return target == mcp.ErrRejected }

// questions decodes inputRequests, nil for none. Before that it checks their number: at most Limits.ServerRequests, and as many
// as are answered already, which the server may repeat.
func (g *gatherer) questions(raw json.RawMessage, answered int) (asked map[string]mcp.InputRequest, err error) {
	if raw == nil {
		return nil, nil
	}
	n := 0
	d := jsonrpc.NewDecoder(raw, jsonrpc.MaxElements)
	for range d.Members {
		n++
		if n > g.limits.ServerRequests+answered {
			return nil, fmt.Errorf("%w: the server asks more than %d questions at once (Options.Limits.ServerRequests)",
				mcp.ErrInvalidResult, g.limits.ServerRequests)
		}
	}
	if d.Err() != nil || json.Unmarshal(raw, &asked) != nil {
		return nil, fmt.Errorf("%w: inputRequests: %s", mcp.ErrInvalidResult, g.quote(raw))
	}
	return asked, nil
}
