package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/mcpchain/mcpchain/internal/idle"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// WithTask has [Client.CallTool], [CallToolAs] or [Continue] call the tool
// as a task where the server and the tool allow that, and return the result that the
// task comes to. Elsewhere the call is like any other, and other methods ignore the
// option. In revision 2025-11-25 tool, as the server lists it, tells if it may or must be
// a task; in the modern era the server decides at each call, whatever tool says.
// [Client.StartTask] begins a task that continues without a caller.
//
// It is one call. A limit of its time bounds the whole, [WithProgress] follows the
// task until it has ended, and [WithOutputCheck] holds its result. To [WithIdleTimeout]
// every answer about the task is one. The server is asked how far the task is as often
// as [Task.Wait] does, and a task without a result is the error that Wait gives. What
// the task asks is answered by the handlers of [Options], also [WithManualInput].
//
// A call that ends before its task has the server told to cancel the task. One that
// [Client.Close] ends does not, nor one that ends with an [*mcp.InputRequired] (see [Task.Answer]) or
// an [*mcp.SignInError], nor one whose context ended with [ErrDetach] as its
// cause, and neither does one to a server of revision 2025-11-25 that has not yet said
// which task it is. With this option [Task.Wait] cancels the task in the same way.
func WithTask(tool *mcp.Tool) CallOption {
	return func(o *callOptions) { o.task = tool }
}

// WithTaskStarted has a call [WithTask] tell fn which task it has become, before it first
// asks how far the task is. Who keeps the id can wait for the task in another process,
// see [Client.Task]. fn runs on the goroutine of the call. Its error ends the call, and
// the task with it.
func WithTaskStarted(fn func(mcp.TaskState) error) CallOption {
	return func(o *callOptions) { o.taskStarted = fn }
}

// ErrDetach is a cause of the end of a context ([context.WithCancelCause]). It ends the
// wait for a task, and the task continues.
var ErrDetach = errors.New("mcpclient: detached from the task")

// detached reports whether a context ended with ErrDetach.
func detached(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrDetach) }

// resumable reports whether a task continues after an error: a person has something to do first.
func resumable(err error) bool {
	_, refused := errors.AsType[*mcp.SignInError](err)
	_, asks := errors.AsType[*mcp.InputRequired](err)
	return refused || asks
}

// callTask makes a tool call that may become a task, and waits for its end.
func (s *taskStarter) callTask(ctx context.Context, r *request, opts []CallOption) (_ *mcp.CallToolResult, err error) {
	defer func() { err = s.client.scrubbed(err) }()
	o := s.timeouts.forCall().with(opts)
	ctx, w, bounds := waitingFor(ctx, o, o.limitsOrDefault(), opts)
	defer bounds.Stop()
	progress := w.progress
	follower := s.newFollower(ctx, progress != nil)
	defer follower.leave()
	followed := append(slices.Clip(w.opts), func(o *callOptions) { o.follower = follower })
	if w.Task, err = s.startTask(ctx, r, 0, followed); err != nil {
		return nil, err
	}
	w.progress = nil // the token of the call holds until the task has ended
	var result *mcp.CallToolResult
	switch err = w.tell(o.taskStarted); {
	case err != nil:
	case progress == nil:
		result, err = w.result(ctx)
	default:
		result, err = w.follow(ctx, follower, progress)
	}
	if err != nil && !detached(ctx) && !resumable(err) {
		w.giveUp(ctx)
	}
	return result, begun(err)
}

// tell tells of a task that has started, unless the server has answered without one.
func (t *Task) tell(started func(mcp.TaskState) error) error {
	if started == nil || t.id == "" {
		return nil
	}
	return started(t.State())
}

// waiting is one wait for the end of a task.
type waiting struct {
	*Task
	opts     []CallOption       // of each request
	progress func(mcp.Progress) // told of later progress
}

// waitingFor prepares a wait that has these limits as a whole.
func waitingFor(ctx context.Context, o callOptions, l idle.Limits, opts []CallOption) (_ context.Context, w *waiting, bounds *idle.Context) {
	w = &waiting{progress: o.progress}
	ctx, bounds = within(ctx, l)
	w.opts = append(slices.Clip(opts), func(each *callOptions) {
		each.progress = w.progress
		if !l.None() {
			each.idle, each.whole = limit{set: true}, limit{set: true}
		}
	})
	return ctx, w, bounds
}

// pause waits until the task may be asked for again.
func (w *waiting) pause(ctx context.Context, state mcp.TaskState) error {
	wait := state.PollInterval
	if wait == 0 {
		wait = defaultPoll
	}
	return w.life.Sleep(ctx, min(max(wait, shortestPoll), longestPoll))
}

// follow waits elsewhere, and tells of progress on the goroutine of the call.
func (w *waiting) follow(ctx context.Context, f *follower, tell func(mcp.Progress)) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // also when tell panics
	var result *mcp.CallToolResult
	started := w.life.StartSending(func() {
		got, err := w.result(ctx)
		if err != nil {
			f.calls.Fail(f.ID, err)
			return
		}
		result = got
		f.calls.Resolve(f.ID, jsonrpc.Response{})
	})
	if !started {
		return nil, w.life.Cause()
	}
	_, err := f.Wait(ctx, func(params json.RawMessage) { tellProgress(tell, params) })
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() != nil:
		return nil, ended(ctx)
	}
	return nil, err
}

// giveUp cancels the task at the server, unless it has ended.
func (t *Task) giveUp(ctx context.Context) {
	if !t.State().Status.Final() {
		t.wire.sendUnawaited(ctx, t.request("tasks/cancel"))
	}
}

// sendUnawaited sends a request without waiting for the response.
func (w *roundTripper) sendUnawaited(ctx context.Context, r *request) {
	if !w.peer.offered(requirement(r.method)) {
		return
	}
	l, e, o := w.peer.link.Load(), w.peer.current(), new(callOptions)
	flight, err := l.start(ctx, r, o)
	if err != nil {
		return // there is no server to tell
	}
	l.calls.Forget(&flight.Call)
	l.postAsync(asyncPost{what: r.method, body: e.encode(nil, flight.ID, r, o), header: e.header(r), values: ctx})
}
