// Package langchain connects langchaingo with MCP servers: their tools for its agents, their
// prompts as templates, and their resources as documents. It also makes langchaingo's tools a
// source for package agent.
//
// The guide is docs/adapter.md of the repository.
package langchain

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tmc/langchaingo/tools"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Tools returns the tools of a source for langchaingo's agents, each an [*adapter.Tool]. These
// agents show a model only the name and the description, so the description says what the input
// must look like.
func Tools(source adapter.Source) []tools.Tool {
	var out []tools.Tool
	for _, tool := range source.Catalog(profile.Plain).Tools() {
		out = append(out, tool)
	}
	return out
}

// textSchema is the input schema of langchaingo's tools, which accept one text.
const textSchema = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}`

// Source returns a source of langchaingo's tools. Each is a function, see [adapter.Func], with one
// parameter, the text "input". Approvals name the server "langchain". Source panics if a tool is
// nil or has no name.
func Source(all ...tools.Tool) adapter.Source {
	sources := make([]adapter.Source, len(all))
	for i, tool := range all {
		if tool == nil {
			panic(fmt.Sprintf("langchain: tool %d is nil", i))
		}
		sources[i] = function(tool)
	}
	return adapter.Merge(sources...)
}

// function returns the function that calls a tool.
func function(tool tools.Tool) adapter.Source {
	def := &mcp.Tool{Name: tool.Name(), Description: tool.Description(), InputSchema: json.RawMessage(textSchema)}
	f, err := adapter.NewFuncTool(def, func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
		var in struct {
			Input string `json:"input"`
		}
		if err := json.Unmarshal(arguments, &in); err != nil {
			return nil, fmt.Errorf("arguments: %w", err)
		}
		out, err := tool.Call(ctx, in.Input)
		if err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: out}}}, nil
	}, &adapter.FuncOptions{Server: "langchain"})
	if err != nil {
		panic("langchain: " + err.Error())
	}
	return f
}
