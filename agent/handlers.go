package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/internal/guard"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Question is what a server asks the person.
type Question struct {
	Server string // the host's label, which a person must be told
	Call   *Call  // the tool call it belongs to, nil when that cannot be known
	Params *mcp.ElicitParams
}

// Elicitation makes a handler, for [mcpclient.Options], that brings questions
// of servers into the run they belong to: as events, and to [Options.OnElicit].
// What that does not answer goes to next, and without a next it is declined.
//
// Questions outside of a run, and those of a server that serves several runs at
// the same time when it cannot be known which one is asked, go to next alone.
//
// The handler takes the modes of elicitation that next takes; without a next,
// forms. A host whose OnElicit shows URLs needs a next that declares them.
func Elicitation(next mcp.ElicitationHandler) mcp.ElicitationHandler {
	return &elicitation{next: next}
}

type elicitation struct {
	next mcp.ElicitationHandler // may be nil
}

// ElicitationCapability is that of the next handler.
func (h *elicitation) ElicitationCapability() mcp.ElicitationCapability {
	if c, ok := h.next.(interface {
		ElicitationCapability() mcp.ElicitationCapability
	}); ok {
		return c.ElicitationCapability()
	}
	return mcp.ElicitationCapability{Form: true}
}

// Elicit implements [mcp.ElicitationHandler].
func (h *elicitation) Elicit(ctx context.Context, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	r, ctx, leave := visit(ctx)
	if r == nil {
		return h.fallback(ctx, params)
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
			result, err = h.fallback(ctx, params)
		}
		if result != nil && err == nil {
			result, err = params.Complete(result)
		}
		return err
	})
	r.emit(&ElicitationEnd{Question: q, Result: result, Err: err, Duration: time.Since(start)})
	return result, forServer(err)
}

func (h *elicitation) fallback(ctx context.Context, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if h.next == nil {
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}
	return h.next.Elicit(ctx, params)
}

// Sampling makes a handler, for [mcpclient.Options], that shows requests for
// the host's model as events of the run they belong to. next answers them, and
// its capability is declared. Sampling of nil is nil: nothing is offered.
func Sampling(next mcp.SamplingHandler) mcp.SamplingHandler {
	if next == nil {
		return nil
	}
	return &sampling{next: next}
}

type sampling struct {
	next mcp.SamplingHandler
}

// SamplingCapability is that of the next handler.
func (h *sampling) SamplingCapability() mcp.SamplingCapability {
	if c, ok := h.next.(interface {
		SamplingCapability() mcp.SamplingCapability
	}); ok {
		return c.SamplingCapability()
	}
	return mcp.SamplingCapability{}
}

// CreateMessage implements [mcp.SamplingHandler].
func (h *sampling) CreateMessage(ctx context.Context, params *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	r, ctx, leave := visit(ctx)
	if r == nil {
		return h.next.CreateMessage(ctx, params)
	}
	defer leave()
	server, call := asker(ctx)
	if !r.emit(&SamplingStart{Server: server, Call: call, Params: params}) {
		return nil, r.ended()
	}
	start := time.Now()
	var result *mcp.CreateMessageResult
	err := guarded("sampling handler", func() (err error) {
		result, err = h.next.CreateMessage(ctx, params)
		return err
	})
	r.emit(&SamplingEnd{
		Server: server, Call: call, Params: params,
		Result: result, Err: err, Duration: time.Since(start),
	})
	return result, forServer(err)
}

// forServer is the error that a server gets to see: of a panic, nothing more
// than that.
func forServer(err error) error {
	if _, ok := errors.AsType[*guard.PanicError](err); ok {
		return &mcp.RPCError{Code: mcp.CodeInternalError, Message: "the handler panicked"}
	}
	return err
}

// Keys of context values: the run, and the tool call within it. A handler's
// context has those on which all calls agree that it may belong to.
type (
	runKey  struct{}
	callKey struct{}
)

// asker tells which server asks a handler, in which tool call.
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

// visit finds the run that a handler works for, and a context that also ends
// with that run. The run is nil when there is none or when it is over;
// otherwise the handler must call leave.
func visit(ctx context.Context) (r *run, visiting context.Context, leave func()) {
	r, ok := ctx.Value(runKey{}).(*run)
	if !ok || !r.visits.begin() {
		return nil, ctx, nil
	}
	visiting, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(r.visits.ctx, func() { cancel(context.Cause(r.visits.ctx)) })
	return r, visiting, func() {
		stop()
		cancel(nil)
		r.visits.wg.Done()
	}
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
