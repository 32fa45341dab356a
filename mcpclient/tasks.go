package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// ErrTaskCancelled is the error of [Task.Wait] for a cancelled task.
var ErrTaskCancelled = errors.New("mcpclient: task cancelled")

var errNoTask = errors.New("task has no id: a server that answers at once makes no task that could be resumed")

// Task is a tool call that continues at the server without a waiting caller. Its methods may be
// called concurrently. If the server answered at once they send nothing.
type Task struct {
	*taskStarter
	id     string
	tool   string
	callID int64 // CallInfo.ID of the tool call and its later requests

	result *mcp.CallToolResult // set if the server answered without a task

	mu       sync.Mutex
	state    mcp.TaskState
	answered map[[sha256.Size]byte]bool // the server's questions, by hashes of their keys
	rounds   int                        // rounds of questions so far
}

// The default interval of polling, and bounds of a server's interval.
const (
	defaultPoll  = time.Second
	shortestPoll = 100 * time.Millisecond
	longestPoll  = time.Hour
)

// ID returns the id for [Client.Task]. It may be the only protection of the task: treat it as a
// secret. It is empty if the server answered at once.
func (t *Task) ID() string { return t.id }

// Poll asks the server for the state of the task.
func (t *Task) Poll(ctx context.Context, opts ...CallOption) (mcp.TaskState, error) {
	switch {
	case t.result != nil:
		return t.lastState(), nil
	case t.id == "":
		return mcp.TaskState{}, t.failure(errNoTask)
	}
	task, err := t.poll(ctx, opts)
	if err != nil {
		return mcp.TaskState{}, t.failure(err)
	}
	return task.state, nil
}

func (t *Task) poll(ctx context.Context, opts []CallOption) (polledTask, error) {
	var raw json.RawMessage
	r := t.request("tasks/get")
	if err := t.call(ctx, r, &raw, opts); err != nil {
		return polledTask{}, err
	}
	task, err := t.eraOf(r).decodePolled(raw)
	if err != nil {
		return polledTask{}, fmt.Errorf("%w: %v: %s", mcp.ErrInvalidResult, err, t.quote(raw))
	}
	if task.state.ID != t.id {
		return polledTask{}, fmt.Errorf("%w: the server answered with another task", mcp.ErrInvalidResult)
	}
	t.recordState(task.state)
	return task, nil
}

func (t *Task) lastState() mcp.TaskState {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// recordState records an answer about the task. Concurrent answers arrive in any order: one before the
// end of the task does not undo the end. The id is a secret, even in logs.
func (t *Task) recordState(state mcp.TaskState) {
	t.mu.Lock()
	before := t.state.Status
	late := before.Final() && !state.Status.Final()
	if !late {
		t.state = state
	}
	t.mu.Unlock()
	if state.Status != before && !late {
		t.log.Debug("a task continues", "tool", t.tool, "status", state.Status)
	}
}

// Wait waits until the task has ended and returns its result. It polls at the server's
// interval, by default once a second, always between 100 ms and 1 h. The handlers of [Options]
// answer the server's questions. The error of a failed task without a result is an
// [*mcp.RPCError], of a cancelled task [ErrTaskCancelled].
//
// If a handler leaves its answer to the caller ([mcp.ErrAnswerLater]), the error is an
// [*mcp.InputRequired]: answer it with [Task.Answer], here or in another process, and wait again.
//
// If ctx ends, only the waiting ends: the task continues, and Wait may be called again, unless
// it is called [WithTask]. An answered question is not asked again.
//
// [WithTimeout] and [WithIdleTimeout] bound the wait. Without them the limits of [Options]
// bound each request; default limits do not bound the request for the result. [WithOutputCheck]
// checks the result. Wait gets no progress notices of the call: use [WithTask] for these.
func (t *Task) Wait(ctx context.Context, opts ...CallOption) (*mcp.CallToolResult, error) {
	o := callOptions{}.with(opts)
	check, err := o.resultCheck(t.validator)
	if err != nil {
		return nil, t.failure(err)
	}
	ctx, w, bounds := newTaskWait(ctx, o, o.limits(), opts)
	defer bounds.Stop()
	w.Task = t
	result, err := w.result(ctx)
	if err != nil {
		if o.task != nil {
			t.giveUp(ctx, err)
		}
		return nil, t.failure(err)
	}
	if check != nil {
		if err := check(result); err != nil {
			return nil, t.failure(err)
		}
	}
	return result, nil
}

// Cancel asks the server to cancel the task. The task may still end in another way, see [Task.Wait].
func (t *Task) Cancel(ctx context.Context, opts ...CallOption) error {
	switch {
	case t.result != nil:
		return nil
	case t.id == "":
		return fmt.Errorf("cancel: %w", t.failure(errNoTask))
	}
	var raw json.RawMessage
	r := t.request("tasks/cancel")
	if err := t.call(ctx, r, &raw, opts); err != nil {
		return fmt.Errorf("cancel: %w", t.failure(err))
	}
	task, err := t.eraOf(r).decodePolled(raw)
	if err == nil && task.state.ID == t.id { // a modern server returns no state yet
		t.recordState(task.state)
	}
	return nil
}

func (t *Task) request(method string) *request {
	params := append(jsonrpc.AppendString([]byte(`{"taskId":`), t.id), '}')
	return &request{method: method, target: t.id, params: params, call: t.info(), task: true}
}

// info describes the call that became the task, without the id of the task, for display.
func (t *Task) info() mcp.CallInfo {
	return mcp.CallInfo{ID: t.callID, Method: "tools/call", Name: t.tool}
}

func (t *Task) decode(raw json.RawMessage) (*mcp.CallToolResult, error) {
	result := &mcp.CallToolResult{Tool: t.tool}
	if err := jsonrpc.DecodeResult(raw, result); err != nil {
		return nil, fmt.Errorf("%w: %v: %s", mcp.ErrInvalidResult, err, t.quote(raw))
	}
	return result, nil
}

func (t *Task) failure(err error) error {
	return t.scrubError(fmt.Errorf("task of tool %q: %w", t.tool, err))
}
