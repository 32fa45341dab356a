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

// taskStarter starts tasks, and has what their methods use.
type taskStarter struct {
	*gatherer
	call      func(ctx context.Context, r *request, result any, opts []CallOption) error
	wire      *roundTripper
	validator Validator
	limits    *Limits
	timeouts  *Timeouts
}

// The default interval of polling, and bounds of a server's interval.
const (
	defaultPoll  = time.Second
	shortestPoll = 100 * time.Millisecond
	longestPoll  = time.Hour
)

// StartTask calls a listed tool as a task. The server keeps the task for ttl; if ttl is zero,
// it decides. StartTask returns when the server has accepted the task, or has answered at once;
// [Task.Wait] then returns the answer.
//
// The error is [ErrUndeclared] if the server has no tasks, or the tool cannot be a task. In
// revision 2025-11-25 the client asks for a task; in the modern era the client only declares tasks
// (extension io.modelcontextprotocol/tasks), and the server decides on the task and its ttl.
//
// The options hold only for StartTask: [WithProgress] gets nothing after it has returned. To
// get only the result, call the tool [WithTask].
func (c *Client) StartTask(ctx context.Context, tool *mcp.Tool, args any, ttl time.Duration, opts ...CallOption) (*Task, error) {
	if tool == nil {
		return nil, errors.New("start tool: no tool (nil)")
	}
	t, err := c.tasks.startTool(ctx, tool, args, ttl, opts)
	if err != nil {
		return nil, c.scrubError(fmt.Errorf("start tool %q: %w", tool.Name, err))
	}
	return t, nil
}

func (s *taskStarter) startTool(ctx context.Context, tool *mcp.Tool, args any, ttl time.Duration, opts []CallOption) (*Task, error) {
	if ttl < 0 {
		return nil, fmt.Errorf("ttl %v is negative: want 0 if the server decides", ttl)
	}
	if err := s.checkTask(tool); err != nil {
		return nil, err
	}
	params, err := encodeArguments(tool.Name, args)
	if err != nil {
		return nil, err
	}
	return s.startTask(ctx, &request{method: "tools/call", target: tool.Name, params: params}, ttl, opts)
}

func (s *taskStarter) startTask(ctx context.Context, r *request, ttl time.Duration, opts []CallOption) (*Task, error) {
	r.task = true
	r = s.current().taskRequest(r, ttl)
	var raw json.RawMessage
	if err := s.call(ctx, r, &raw, opts); err != nil {
		return nil, err
	}
	t := s.newTask("", r.target, r.call.ID)
	state, isTask, err := s.eraOf(r).decodeCreated(raw)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %s", err, s.quote(raw))
	case isTask:
		t.id, t.state = state.ID, state
		return t, nil
	}
	if t.result, err = t.decode(raw); err != nil {
		return nil, err
	}
	t.state.Status = mcp.TaskCompleted
	return t, nil
}

// Task returns the task with an id, which may come from another process. tool, the name of the
// tool, is used only in errors and [mcp.CallInfo]. It sends nothing. Without an id the methods of
// the task fail.
func (c *Client) Task(id, tool string) *Task {
	t := c.tasks.newTask(id, tool, c.wire.lastCallID.Add(1))
	t.state = mcp.TaskState{ID: id, Status: mcp.TaskWorking}
	return t
}

func (s *taskStarter) newTask(id, tool string, call int64) *Task {
	return &Task{taskStarter: s, id: id, tool: tool, callID: call, answered: map[[sha256.Size]byte]bool{}}
}

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
		return polledTask{}, fmt.Errorf("%w: %s", err, t.quote(raw))
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
	wait := w.pollResult
	if t.current().has(coreTasks) {
		wait = w.fetchResult
	}
	raw, err := wait(ctx)
	if wraps[*mcp.RPCError](err) && t.lastState().Status == mcp.TaskCancelled { // cancelled in the meantime, and forgotten
		err = ErrTaskCancelled
	}
	if err != nil {
		return nil, err
	}
	return t.decode(raw)
}

// Cancel asks the server to cancel the task. The task may still end in another way, see
// [Task.Wait].
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
