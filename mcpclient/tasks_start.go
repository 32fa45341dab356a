package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// taskStarter starts tasks, and has what their methods use.
type taskStarter struct {
	*gatherer
	call func(ctx context.Context, r *request, result any, opts []CallOption) error
	wire *roundTripper
}

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
		return nil, fmt.Errorf("%w: %v: %s", mcp.ErrInvalidResult, err, s.quote(raw))
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
