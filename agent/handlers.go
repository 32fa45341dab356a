package agent

import (
	"context"
	"sync"

	"github.com/mcpchain/mcpchain/adapter"
)

// depthKey is the context key of the number of enclosing runs.
type depthKey struct{}

// enclosingRuns returns the number of runs that enclose a context: a tool may run an agent, and so
// itself.
func enclosingRuns(ctx context.Context) int {
	depth, _ := ctx.Value(depthKey{}).(int)
	return depth
}

// callKey is the context key of the tool call, a *Call. The context of a handler has it if the
// server's request can belong to no other call.
type callKey struct{}

// asker returns the server that asks a handler, and the tool call, nil if that is unknown.
func asker(ctx context.Context) (server string, call *Call) {
	call, _ = ctx.Value(callKey{}).(*Call)
	server, _ = adapter.OriginFrom(ctx)
	switch {
	case server != "" && call != nil && call.Server != server:
		// A handler called a tool of this server while it answered another request.
		return server, nil
	case server == "" && call != nil:
		return call.Server, call
	}
	return server, call
}

// activeHandlers counts the handlers that work for a run on goroutines of the clients, so that the
// run can wait for them.
type activeHandlers struct {
	ctx    context.Context // ends with end
	cancel context.CancelCauseFunc

	mu    sync.Mutex // guards ended, and orders wg.Add before wg.Wait
	ended bool
	wg    sync.WaitGroup
}

// register returns a context that also ends with the run, for a handler that must call done at its
// end. ok is false if the run has ended; the context is then ctx itself.
func (h *activeHandlers) register(ctx context.Context) (_ context.Context, done func(), ok bool) {
	h.mu.Lock()
	if h.ended {
		h.mu.Unlock()
		return ctx, nil, false
	}
	h.wg.Add(1)
	h.mu.Unlock()
	inner, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.ctx, func() { cancel(context.Cause(h.ctx)) })
	return inner, func() {
		stop()
		cancel(nil)
		h.wg.Done()
	}, true
}

// end refuses further handlers, cancels the contexts of current ones, and waits for them. It may be
// called more than once.
func (h *activeHandlers) end() {
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	h.cancel(errOver)
	h.wg.Wait()
}
