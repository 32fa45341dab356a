package agent

import (
	"context"
	"sync"

	"github.com/mcpchain/mcpchain/adapter"
)

// depthKey is the key of the number of runs around a context.
type depthKey struct{}

// depthOf is in how many runs a context stands: a tool may run an agent, and so itself.
func depthOf(ctx context.Context) int {
	depth, _ := ctx.Value(depthKey{}).(int)
	return depth
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
