package mcpclient

import (
	"encoding/json"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// polledTask is a server's answer to a poll.
type polledTask struct {
	state mcp.TaskState
	taskOutcome
}

// taskOutcome is a task's questions or result, in the answer to a modern poll.
type taskOutcome struct {
	Input  json.RawMessage `json:"inputRequests"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}
