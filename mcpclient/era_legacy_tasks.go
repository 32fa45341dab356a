package mcpclient

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/metakey"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// taskable refuses tasks that the client must not request: "clients MUST NOT attempt to use
// task augmentation" unless the server declares it and the tool allows it.
func (e *legacyEra) taskable(tool *mcp.Tool, _ *offers, server *mcp.ServerCapabilities, undeclared bool) error {
	tasks := server.Tasks
	if !e.has(coreTasks) || !undeclared && (tasks == nil || tasks.Requests.Tools.Call == nil) {
		return &CapabilityError{Capability: "tasks"}
	}
	var execution struct {
		TaskSupport string `json:"taskSupport"`
	}
	if len(tool.Execution) > 0 {
		_ = json.Unmarshal(tool.Execution, &execution) // other values count as absent
	}
	if execution.TaskSupport != "optional" && execution.TaskSupport != "required" {
		return &CapabilityError{Capability: "this tool as a task"}
	}
	return nil
}

// taskRequest requests a task.
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

const relatedTask = metakey.Prefix + "related-task"

// aboutTask adds the task of a server's request to the answer, as "all requests, responses and
// notifications related to a task MUST" do.
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
