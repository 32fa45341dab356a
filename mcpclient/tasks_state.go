package mcpclient

import (
	"encoding/json"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// polledTask is what a server answers that is asked for a task.
type polledTask struct {
	state mcp.TaskState
	taskOutcome
}

// taskOutcome is what a task needs or has come to, where the answer that tells its
// state has that too: in the modern era.
type taskOutcome struct {
	Input  json.RawMessage `json:"inputRequests"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}
