package adapter

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// tasksExtension is the extension that modern servers with tasks declare.
const tasksExtension = "io.modelcontextprotocol/tasks"

// mayBeTask reports whether a tool is called as a task: if it requires that, or if the server decides for each call,
// because it may refuse other calls. If a tool leaves the choice to the client, a plain call is answered sooner.
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

// IsTask reports whether a call of the tool asks for a task: its definition requires one (revision
// 2025-11-25), or the server decides for each call (later revisions).
func (t *Tool) IsTask() bool { return t.task }

// ask calls the tool at the server.
func (t *Tool) ask(ctx context.Context, args json.RawMessage, opts []mcpclient.CallOption) (*mcp.CallToolResult, error) {
	return t.client.CallTool(ctx, t.def.Name, args, t.options(opts)...)
}

// options returns the options of a call, or of its continuation: whether it may become a task, and the
// check of its result are added.
func (t *Tool) options(opts []mcpclient.CallOption) []mcpclient.CallOption {
	if t.task {
		opts = append(slices.Clip(opts), mcpclient.WithTask(t.def))
	}
	if t.outputs != nil {
		opts = append(slices.Clip(opts), mcpclient.WithOutputCheck(t.def, t.outputs))
	}
	return opts
}
