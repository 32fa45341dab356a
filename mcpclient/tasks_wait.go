package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// taskWait is one wait for the end of a task.
type taskWait struct {
	*Task
	opts     []CallOption       // the options of each request
	progress func(mcp.Progress) // gets the progress of each request; nil once a follower does
}

func newTaskWait(
	ctx context.Context, o callOptions, l bound.Limits, opts []CallOption,
) (_ context.Context, w *taskWait, bounds *bound.Context) {
	w = &taskWait{progress: o.progress}
	ctx, bounds = within(ctx, l)
	w.opts = append(slices.Clip(opts), func(each *callOptions) {
		each.progress = w.progress
		if !l.None() {
			each.idle, each.whole = limit{set: true}, limit{set: true}
		}
	})
	return ctx, w, bounds
}

func (w *taskWait) result(ctx context.Context) (*mcp.CallToolResult, error) {
	t := w.Task
	switch {
	case t.result != nil:
		return t.result, nil
	case t.id == "":
		return nil, errNoTask
	case t.lastState().Status == mcp.TaskCancelled: // the server may have forgotten it
		return nil, ErrTaskCancelled
	}
	raw, err := w.pollResult(ctx)
	if wraps[*mcp.RPCError](err) && t.lastState().Status == mcp.TaskCancelled { // cancelled in the meantime, and forgotten
		err = ErrTaskCancelled
	}
	if err != nil {
		return nil, err
	}
	return t.decode(raw)
}

// pollResult polls until there is a result. In the legacy era it asks for the result, also if the server needs input: the
// server asks during that request.
func (w *taskWait) pollResult(ctx context.Context) (json.RawMessage, error) {
	fetches := w.current().has(coreTasks)
	for {
		task, err := w.poll(ctx, w.opts)
		if err != nil {
			return nil, err
		}
		switch status := task.state.Status; {
		case status == mcp.TaskCancelled:
			return nil, ErrTaskCancelled
		case fetches && status != mcp.TaskWorking:
			return w.fetch(ctx)
		case status == mcp.TaskCompleted:
			if len(task.Result) == 0 {
				return nil, fmt.Errorf("%w: a completed task without a result", mcp.ErrInvalidResult)
			}
			return task.Result, nil
		case status == mcp.TaskFailed:
			if len(task.Error) == 0 {
				return nil, fmt.Errorf("%w: a failed task without an error", mcp.ErrInvalidResult)
			}
			return nil, w.rpcError(task.Error)
		case status == mcp.TaskInputRequired:
			if err := w.answer(ctx, task.Input, w.opts); err != nil {
				return nil, err
			}
		}
		if err := w.pause(ctx, task.state); err != nil {
			return nil, err
		}
	}
}

// polledTask is an answer about a task.
type polledTask struct {
	state mcp.TaskState

	// The questions or the outcome of the task, only in the modern era.
	Input  json.RawMessage `json:"inputRequests"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// fetch asks for the result. It comes at the end of the task; until then the server may be silent.
func (w *taskWait) fetch(ctx context.Context) (json.RawMessage, error) {
	defer bound.From(ctx).Hold()()
	var raw json.RawMessage
	opts := append(slices.Clip(w.opts), func(o *callOptions) { o.noDefaultLimits = true })
	err := w.call(ctx, w.request("tasks/result"), &raw, opts)
	return raw, err
}

func (w *taskWait) pause(ctx context.Context, state mcp.TaskState) error {
	wait := state.PollInterval
	wait = cmp.Or(wait, defaultPoll)
	return w.life.Sleep(ctx, min(max(wait, shortestPoll), longestPoll))
}

// follow waits on another goroutine, and reports progress on the goroutine of the call.
func (w *taskWait) follow(ctx context.Context, f *follower, report func(mcp.Progress)) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // even if report panics
	var result *mcp.CallToolResult
	started := w.life.StartSending(func() {
		defer f.calls.Fail(f.ID, errExited) // without effect after the lines below
		var err error
		if result, err = w.recoveredResult(ctx); err != nil {
			f.calls.Fail(f.ID, err)
			return
		}
		f.calls.Resolve(f.ID, jsonrpc.Response{})
	})
	if !started {
		return nil, w.life.Cause()
	}
	_, err := f.Wait(ctx, func(params json.RawMessage) { reportProgress(report, params) })
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() != nil:
		return nil, contextError(ctx)
	}
	return nil, err
}

// recoveredResult is [taskWait.result] for a goroutine of the client.
func (w *taskWait) recoveredResult(ctx context.Context) (_ *mcp.CallToolResult, err error) {
	defer recoverPanic(w.log, "tools/call", errCheckPanicked, &err)
	return w.result(ctx)
}
