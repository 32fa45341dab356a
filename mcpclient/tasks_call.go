package mcpclient

import (
	"context"
	"errors"
	"slices"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// WithTask makes [Client.CallTool], [CallToolAs] or [Continue] call the tool as a task if the
// server and the tool allow that, and return the result of the task. Otherwise the call is like any
// other; other methods ignore the option. In revision 2025-11-25 the definition, as the server
// lists it, says whether the tool may or must be a task; in the modern era the server decides at
// each call, whatever tool says. [Client.StartTask] begins a task that continues without a caller.
//
// It is one call: limits of time bound the whole, [WithProgress] follows the task until it has
// ended, and [WithOutputCheck] checks its result. For [WithIdleTimeout] every answer about the
// task counts. The task is polled as by [Task.Wait], with the same errors. The handlers of
// [Options] answer the questions of the task, even with [WithManualInput].
//
// A call that ends before its task cancels the task at the server, except if
//   - [Client.Close] ended the call,
//   - its error is an [*mcp.InputRequired] (see [Task.Answer]) or an [*mcp.SignInError],
//   - the cause of its context's end is [ErrDetach], or
//   - a server of revision 2025-11-25 has not yet named the task.
//
// With this option [Task.Wait] cancels the task in the same way.
func WithTask(tool *mcp.Tool) CallOption {
	return func(o *callOptions) { o.task = tool }
}

// WithTaskStarted makes a call [WithTask] call fn with the task that it has become, before it first
// polls. With the id another process can wait for the task ([Client.Task]). fn runs on the
// goroutine of the call. Its error ends the call and the task.
func WithTaskStarted(fn func(mcp.TaskState) error) CallOption {
	return func(o *callOptions) { o.taskStarted = fn }
}

// ErrDetach, as the cause of the end of a context ([context.WithCancelCause]), ends the wait
// for a task, and the task continues.
var ErrDetach = errors.New("mcpclient: detached from the task")

func (s *taskStarter) callTask(ctx context.Context, r *request, opts []CallOption) (_ *mcp.CallToolResult, err error) {
	defer func() { err = s.scrubError(err) }()
	o := s.timeouts.forCall().with(opts)
	ctx, w, bounds := newTaskWait(ctx, o, o.limitsOrDefault(), opts)
	defer bounds.Stop()
	progress := w.progress
	maxNotes := 0
	if progress != nil {
		maxNotes = maxNotifications
	}
	follower := newFollower(ctx, maxNotes)
	defer follower.unfollow()
	followed := append(slices.Clip(w.opts), func(o *callOptions) { o.follower = follower })
	if w.Task, err = s.startTask(ctx, r, 0, followed); err != nil {
		return nil, err
	}
	w.progress = nil // the token of the call is valid until the task has ended
	var result *mcp.CallToolResult
	if o.taskStarted != nil && w.id != "" { // it has no id if the server has answered at once
		err = o.taskStarted(w.lastState())
	}
	switch {
	case err != nil:
	case progress == nil:
		result, err = w.result(ctx)
	default:
		result, err = w.follow(ctx, follower, progress)
	}
	if err != nil {
		w.giveUp(ctx, err)
		return nil, &begunError{err}
	}
	return result, nil
}

// giveUp cancels the task at the server after a wait for it has failed with err. It does nothing if
// the task has ended, or is to continue: see [WithTask].
func (t *Task) giveUp(ctx context.Context, err error) {
	toContinue := wraps[*mcp.SignInError](err) || wraps[*mcp.InputRequired](err) || errors.Is(context.Cause(ctx), ErrDetach)
	if !toContinue && !t.lastState().Status.Final() {
		t.wire.sendUnawaited(ctx, t.request("tasks/cancel"))
	}
}

func (w *roundTripper) sendUnawaited(ctx context.Context, r *request) {
	if w.peer.checkOffered(r.method) != nil {
		return
	}
	l, e, o := w.peer.link.Load(), w.peer.current(), new(callOptions)
	flight, err := l.start(ctx, e, r, o)
	if err != nil {
		return // there is no server to tell
	}
	l.calls.Forget(&flight.Call)
	l.postAsync(asyncPost{description: r.method, body: e.encode(nil, flight.ID, r, o), header: l.header(e, r), values: ctx})
}
