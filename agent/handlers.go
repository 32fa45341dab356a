package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/price"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// depthKey is the key of the number of runs around a context.
type depthKey struct{}

// depthOf is in how many runs a context stands: a tool may run an agent, and so itself.
func depthOf(ctx context.Context) int {
	depth, _ := ctx.Value(depthKey{}).(int)
	return depth
}

// asCaller returns the context of the tool calls of this turn. What they ask of a
// person or a model comes to the run.
func (w *work) asCaller() context.Context {
	ctx := context.WithValue(w.engine.ctx, depthKey{}, depthOf(w.engine.ctx)+1)
	ctx = price.WithAccount(ctx, account{w.engine})
	return adapter.WithCaller(ctx, &adapter.Caller{
		Approve: w.approver, Elicit: w.elicit, CreateMessage: w.createMessage,
		Waiting: w.delayed, Unanswered: w.unanswered,
	})
}

// delayed shows why a call is not sent yet.
func (w *work) delayed(ctx context.Context, why string) {
	if call, ok := ctx.Value(callKey{}).(*Call); ok {
		w.rec.show(&ToolProgress{Call: *call, Progress: mcp.Progress{Message: why}})
	}
}

// unanswered shows that a question of a server reached no person.
func (w *work) unanswered(server string, _ error) {
	w.rec.show(&Warning{Text: fmt.Sprintf("server %q asked something and did not say for which of several conversations: no person was asked, and the server was told so; if a call failed, make it again", server)})
}

// elicit brings a server's question into the run. If the host has no handler for them, a modern server's question ends the call and comes back as a question of the
// run. A legacy server waits for its answer, and so does a server that a handler has
// called, see [LegacyQuestions]. If a legacy server's error asks for a visit, the client waits.
func (w *work) elicit(ctx context.Context, params *mcp.ElicitParams, next mcp.ElicitationHandler) (*mcp.ElicitResult, error) {
	q := &Question{Params: params}
	q.Server, q.Call = asker(ctx)
	ours := next == nil
	if origin, _ := mcp.OriginFrom(ctx); ours && origin.Key != "" && q.Call != nil {
		return nil, mcp.ErrAnswerLater
	}
	ctx, leave, ok := w.visits.enter(ctx)
	if !ok {
		return hostAnswer(ctx, params, next)
	}
	defer leave()
	if !w.rec.show(&ElicitationStart{Question: q}) {
		return nil, w.ended()
	}
	start := time.Now()
	var result *mcp.ElicitResult
	err := guarded("elicitation handler", func() (err error) {
		if ours {
			result, err = w.inOpenCall(ctx, q)
		}
		if result == nil && err == nil {
			result, err = hostAnswer(ctx, params, next)
		}
		if result != nil && err == nil {
			result, err = params.Complete(result)
		}
		return err
	})
	w.rec.show(&ElicitationEnd{Question: q, Result: result, Err: err, Duration: time.Since(start)})
	if err != nil && w.handlerError() != nil { // the run ends, and not for what the server did
		return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
	}
	return result, forServer(err)
}

// hostAnswer is the answer of the host's handler, if it has one.
func hostAnswer(ctx context.Context, params *mcp.ElicitParams, next mcp.ElicitationHandler) (*mcp.ElicitResult, error) {
	if next == nil {
		return nil, adapter.ErrNotAsked
	}
	return next.Elicit(ctx, params)
}

// atHand asks the person at hand what a server waits for, nil if there is no answer. An error
// ends the run, unless the question is over.
func (w *work) atHand(ctx context.Context, q *run.Ask) (*run.Answer, error) {
	if w.desk.atHandFunc() == nil {
		return nil, nil
	}
	answer, err := w.desk.person(ctx, q)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil || errors.Is(err, run.ErrExpired):
		return nil, err
	}
	return nil, w.fail(notAnswered(q, err))
}

// callKey is the key of the context value that is the tool call, a *Call. The context
// of a handler has it if the server's request can belong to no other call.
type callKey struct{}

// asker returns the server that asks a handler, and the tool call.
func asker(ctx context.Context) (server string, call *Call) {
	call, _ = ctx.Value(callKey{}).(*Call)
	source, ok := adapter.SourceFrom(ctx)
	switch {
	case ok && call != nil && call.Server != source.Server:
		// A handler called a tool of this server while it answered another one.
		return source.Server, nil
	case !ok && call != nil:
		return call.Server, call
	}
	return source.Server, call
}

// visits counts the handlers that are at work for a run, on goroutines of the
// clients, so that the run can wait for them.
type visits struct {
	ctx    context.Context // ends when visits do
	cancel context.CancelCauseFunc

	mu   sync.Mutex // guards over, and wg.Add against wg.Wait
	over bool
	wg   sync.WaitGroup
}

// enter returns a context that also ends with the run, for a handler that must call
// leave. ok is false if the run is over; the context is then the one given.
func (v *visits) enter(ctx context.Context) (_ context.Context, leave func(), ok bool) {
	if !v.begin() {
		return ctx, nil, false
	}
	visiting, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(v.ctx, func() { cancel(context.Cause(v.ctx)) })
	return visiting, func() {
		stop()
		cancel(nil)
		v.wg.Done()
	}, true
}

func (v *visits) begin() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over {
		return false
	}
	v.wg.Add(1)
	return true
}

// end lets no visit begin, ends the contexts of visits under way, and waits for
// them. It may be called more than once.
func (v *visits) end() {
	v.mu.Lock()
	v.over = true
	v.mu.Unlock()
	v.cancel(errOver)
	v.wg.Wait()
}
