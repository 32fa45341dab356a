package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mcpchain/mcpchain/internal/idle"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// taskable refuses what the server must not be asked for: "clients MUST NOT
// attempt to use task augmentation" without the capability and the tool's word.
func (e *legacyEra) taskable(c *Client, tool *mcp.Tool) error {
	tasks := c.server.Load().Capabilities.Tasks
	if !e.has(coreTasks) || !c.opts.Protocol.AllowUndeclared && (tasks == nil || tasks.Requests.Tools.Call == nil) {
		return &CapabilityError{Method: "tools/call", Capability: "tasks"}
	}
	var execution struct {
		TaskSupport string `json:"taskSupport"`
	}
	if len(tool.Execution) > 0 {
		_ = json.Unmarshal(tool.Execution, &execution) // what is no object says nothing
	}
	if execution.TaskSupport != "optional" && execution.TaskSupport != "required" {
		return &CapabilityError{Method: "tools/call", Capability: "this tool as a task"}
	}
	return nil
}

// taskRequest asks for a task.
func (e *legacyEra) taskRequest(r *request, ttl time.Duration) *request {
	task := []byte("{}")
	if ttl > 0 {
		task = append(strconv.AppendInt([]byte(`{"ttl":`), ttl.Milliseconds(), 10), '}')
	}
	r.params = jsonrpc.CloseObject(jsonrpc.AppendMember(jsonrpc.AppendMembers([]byte{'{'}, r.params), "task", task))
	return r
}

func (e *legacyEra) created(raw json.RawMessage) (mcp.TaskState, bool, error) {
	var result struct {
		Task *mcp.TaskState `json:"task"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return mcp.TaskState{}, false, fmt.Errorf("%w: %v", mcp.ErrInvalidResult, err)
	}
	if result.Task == nil {
		return mcp.TaskState{}, false, nil
	}
	return *result.Task, true, nil
}

func (e *legacyEra) polled(raw json.RawMessage) (polledTask, error) {
	var task polledTask
	if err := json.Unmarshal(raw, &task.state); err != nil {
		return polledTask{}, fmt.Errorf("%w: %v", mcp.ErrInvalidResult, err)
	}
	return task, nil
}

const relatedTask = mcp.MetaPrefix + "related-task"

// aboutTask repeats in an answer which task the question belongs to, as "all
// requests, responses and notifications related to a task MUST" do.
func aboutTask(answer, question json.RawMessage) json.RawMessage {
	task := jsonrpc.Lookup(question, "_meta", relatedTask)
	var a struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if task == nil || json.Unmarshal(answer, &a) != nil {
		return answer
	}
	var meta, out []byte
	for key, value := range a.Meta {
		meta = jsonrpc.AppendMember(meta, key, value)
	}
	meta = append([]byte{'{'}, jsonrpc.AppendMember(meta, relatedTask, task)...)
	out = append(out, '{')
	if jsonrpc.Members(answer, func(key, value []byte) {
		if string(key) != "_meta" {
			out = jsonrpc.AppendMember(out, string(key), value)
		}
	}) != nil {
		return answer
	}
	return jsonrpc.CloseObject(jsonrpc.AppendMember(out, "_meta", jsonrpc.CloseObject(meta)))
}

// taskResult polls, and asks for the result when there is one or when the server
// needs input, which it asks for while that request is under way.
func (e *legacyEra) taskResult(ctx context.Context, w *waiting) (json.RawMessage, error) {
	for {
		task, err := w.poll(ctx, w.opts)
		switch {
		case err != nil:
			return nil, err
		case task.state.Status == mcp.TaskCancelled:
			return nil, ErrTaskCancelled
		case task.state.Status != mcp.TaskWorking:
			return w.fetch(ctx)
		}
		if err := w.pause(ctx, task.state); err != nil {
			return nil, err
		}
	}
}

// fetch asks for the result, which comes when the task has ended. The server need not
// say anything before that, as it need not while it is polled.
func (w *waiting) fetch(ctx context.Context) (json.RawMessage, error) {
	defer idle.From(ctx).Hold()()
	var raw json.RawMessage
	opts := append(slices.Clip(w.opts), func(o *callOptions) { o.lasts = true })
	err := w.client.call(ctx, w.client.calls, w.request("tasks/result"), &raw, opts)
	return raw, err
}
