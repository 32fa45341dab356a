package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// requestID identifies a request of a server's round.
type requestID struct{ call, key string }

// reviewKey is the context key of a *ledger.Review, what a person has allowed, for the handler
// of a sampling request.
type reviewKey struct{}

// createMessage handles a server's request for the host's model during a run. If a person has
// to review the request of a modern server, the call ends and the request comes back as a
// question of the run; a legacy server waits for the reply.
func (s *servers) createMessage(
	ctx context.Context, params *mcp.CreateMessageParams, next mcp.SamplingHandler,
) (*mcp.CreateMessageResult, error) {
	ctx, done, ok := s.handlers.register(ctx)
	if !ok {
		return next.CreateMessage(ctx, params)
	}
	defer done()
	server, call := asker(ctx)
	account := &meteredAccount{Account: cost.AccountFrom(ctx)}
	ctx = cost.WithAccount(ctx, account)
	var result *mcp.CreateMessageResult
	err := guard("sampling handler", func() (err error) {
		result, err = s.complete(ctx, params, next)
		return err
	})
	account.mu.Lock()
	used := account.spent
	account.mu.Unlock()
	s.rec.show(&Sampled{Server: server, Call: call, Params: params, Result: result, Usage: used, Err: err})
	return result, serverError(err)
}

// complete lets the handler answer a request, once a person has allowed it if the handler wants that. Before, it waits until
// the caller has handled the events so far.
func (s *servers) complete(
	ctx context.Context, params *mcp.CreateMessageParams, next mcp.SamplingHandler,
) (*mcp.CreateMessageResult, error) {
	if err := cmp.Or(s.rec.awaitCaller(), context.Cause(ctx)); err != nil { // perhaps the server does not wait any more
		return nil, err
	}
	if review, ok := ctx.Value(reviewKey{}).(*ledger.Review); ok {
		ctx = context.WithValue(ctx, reviewKey{}, nil) // it does not apply to what the handler calls
		return createApproved(ctx, review, next)
	}
	result, err := next.CreateMessage(ctx, params)
	if !errors.Is(err, mcp.ErrAnswerLater) {
		return result, err
	}
	later, ok := errors.AsType[*inquiry.ReviewLaterError](err)
	if !ok {
		later = &inquiry.ReviewLaterError{Params: params}
	}
	server, call := asker(ctx)
	if origin, _ := mcp.OriginFrom(ctx); origin.Key != "" && call != nil {
		s.mu.Lock()
		s.reviews[requestID{call.ID, origin.Key}] = later
		s.mu.Unlock()
		return nil, err
	}
	q := s.held.questions.fromServer(server, call)
	q.Kind, q.Sampling, q.Model = run.QuestionSampling, later.Params, later.Model
	resume := s.holdClock(call)
	reply, err := s.held.ask(ctx, q)
	resume()
	switch {
	case err != nil:
		return nil, err
	case reply == nil:
		return nil, later
	case reply.Action != run.ActionAllow:
		return nil, &mcp.RPCError{Code: mcp.CodeUserRejected, Message: "the request was not approved"}
	}
	return createApproved(ctx, new(ledger.NewReview(q, *reply)), next)
}

// createApproved lets the handler answer the request that a person has allowed, perhaps changed.
func createApproved(ctx context.Context, r *ledger.Review, next mcp.SamplingHandler) (*mcp.CreateMessageResult, error) {
	return next.CreateMessage(inquiry.WithApproved(ctx, r.Sampling, r.Model), r.Sampling)
}

// sample makes the completions that a person has allowed, once there is room for the call. Each is
// recorded before the round continues, so that the model is not asked for it again.
func (t *turn) sample(c *ledger.Call, round *mcp.InputRequired, keys []string) (func() error, error) {
	j, err := t.runnable(c)
	if j == nil {
		return nil, err
	}
	return func() error {
		for _, key := range keys {
			review := c.Reviews[key]
			value, err := t.sender.completion(j, round, key, &review)
			if err != nil || value == nil {
				return err
			}
			if err := t.rec.record(nil, &ledger.Sampled{Call: c.ID, Key: key, Value: value}); err != nil {
				return err
			}
		}
		return t.rec.commit()
	}, nil
}

// completion lets the model answer a request. If there is no completion the call has ended, and
// it returns nil.
func (s *sender) completion(
	j *job, round *mcp.InputRequired, key string, review *ledger.Review,
) (json.RawMessage, error) {
	ctx, release := s.callContext(j)
	defer release()
	value, err := j.call.AnswerInput(context.WithValue(ctx, reviewKey{}, review), round, key)
	switch {
	case err == nil:
		return value, nil
	case s.rec.endError() != nil:
		return nil, s.rec.endError()
	}
	text := "Error: the tool's server asked for a completion of the model, which failed. " + givenUp
	return nil, s.recordOutcome(j, j.errorResult(text, err), 0)
}

// recordNotAllowed ends a call whose server may not have a completion. A modern server is not told.
func (s *sender) recordNotAllowed(c *ledger.Call, reply run.Reply) error {
	reason := ""
	if reply.Reason != "" {
		reason = ": " + reply.Reason
	}
	text := fmt.Sprintf("Error: the user did not let the tool's server use the model%s. %s", reason, givenUp)
	j := s.tools.job(c)
	return s.recordOutcome(j, j.errorResult(text, mcp.ErrRejected), 0)
}

// serverError returns the error that a server gets, without the details of a panic.
func serverError(err error) error {
	if _, ok := errors.AsType[*bound.PanicError](err); ok {
		return &mcp.RPCError{Code: mcp.CodeInternalError, Message: "the handler panicked"}
	}
	return err
}
