package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/internal/guard"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Question is what a server asks the person.
type Question struct {
	Server string // the host's label: show it to the person
	Call   *Call  // the tool call it belongs to, nil when that cannot be known
	Params *mcp.ElicitParams
}

// OnlyInRuns is a handler for [mcpclient.Options] of a host that answers questions
// by [Options.OnElicit] and no other way: it declares the modes, forms if none is
// named, and declines what comes outside of a run.
func OnlyInRuns(modes ...string) mcp.ElicitationHandler {
	return onlyInRuns{mcp.ElicitationCapability{
		Form: len(modes) == 0 || slices.Contains(modes, mcp.ElicitForm),
		URL:  slices.Contains(modes, mcp.ElicitURL),
	}}
}

type onlyInRuns struct{ capability mcp.ElicitationCapability }

func (h onlyInRuns) ElicitationCapability() mcp.ElicitationCapability { return h.capability }

// Elicit declines.
func (onlyInRuns) Elicit(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
}

// elicit brings a server's question into the run: as events, and to Options.OnElicit.
func (r *run) elicit(ctx context.Context, params *mcp.ElicitParams, next mcp.ElicitationHandler) (*mcp.ElicitResult, error) {
	ctx, leave, ok := r.visits.enter(ctx)
	if !ok {
		return next.Elicit(ctx, params)
	}
	defer leave()
	q := &Question{Params: params}
	q.Server, q.Call = asker(ctx)
	if !r.emit(&ElicitationStart{q}) {
		return nil, r.ended()
	}
	start := time.Now()
	var result *mcp.ElicitResult
	err := guarded("elicitation callback", func() (err error) {
		if ask := r.agent.opts.OnElicit; ask != nil {
			result, err = ask(ctx, q)
		}
		if result == nil && err == nil {
			result, err = next.Elicit(ctx, params)
		}
		if result != nil && err == nil {
			result, err = params.Complete(result)
		}
		return err
	})
	r.emit(&ElicitationEnd{Question: q, Result: result, Err: err, Duration: time.Since(start)})
	return result, forServer(err)
}

// createMessage shows a server's request for the host's model as events of the run.
func (r *run) createMessage(ctx context.Context, params *mcp.CreateMessageParams, next mcp.SamplingHandler) (*mcp.CreateMessageResult, error) {
	ctx, leave, ok := r.visits.enter(ctx)
	if !ok {
		return next.CreateMessage(ctx, params)
	}
	defer leave()
	server, call := asker(ctx)
	if !r.emit(&SamplingStart{Server: server, Call: call, Params: params}) {
		return nil, r.ended()
	}
	start := time.Now()
	var result *mcp.CreateMessageResult
	err := guarded("sampling handler", func() (err error) {
		result, err = next.CreateMessage(ctx, params)
		return err
	})
	r.emit(&SamplingEnd{
		Server: server, Call: call, Params: params,
		Result: result, Err: err, Duration: time.Since(start),
	})
	return result, forServer(err)
}

// forServer is the error that a server gets. A panic has no details.
func forServer(err error) error {
	if _, ok := errors.AsType[*guard.PanicError](err); ok {
		return &mcp.RPCError{Code: mcp.CodeInternalError, Message: "the handler panicked"}
	}
	return err
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

// end lets no visit begin, ends the contexts of those under way, and waits for
// them. It may be called more than once.
func (v *visits) end() {
	v.mu.Lock()
	v.over = true
	v.mu.Unlock()
	v.cancel(errOver)
	v.wg.Wait()
}
