package adapter

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// tasksExtension is what servers of the modern era have tasks by.
const tasksExtension = "io.modelcontextprotocol/tasks"

// mayBeTask reports whether a tool is to be called as a task: one that says that it
// must be, and every tool of a server that decides that itself, as it may refuse
// calls that cannot become tasks. Where a tool leaves it to us, a call that waits for
// its result is answered sooner without.
func mayBeTask(client *mcpclient.Client, def *mcp.Tool) bool {
	if client != nil {
		if _, decides := client.Server().Capabilities.Extensions[tasksExtension]; decides {
			return true
		}
	}
	var execution struct {
		TaskSupport string `json:"taskSupport"`
	}
	return len(def.Execution) > 0 && json.Unmarshal(def.Execution, &execution) == nil && execution.TaskSupport == "required"
}

// ask has the server run the tool, in the way that the tool wants.
func (t *Tool) ask(ctx context.Context, args json.RawMessage, opts []mcpclient.CallOption) (*mcp.CallToolResult, error) {
	if t.task {
		opts = append(slices.Clip(opts), mcpclient.WithTask(t.def))
	}
	return t.client.CallTool(ctx, t.def.Name, args, t.options(opts)...)
}

// options are the options of a call with the check of its result.
func (t *Tool) options(opts []mcpclient.CallOption) []mcpclient.CallOption {
	if t.outputs != nil {
		opts = append(slices.Clip(opts), mcpclient.WithOutputCheck(t.def, t.outputs))
	}
	return opts
}
