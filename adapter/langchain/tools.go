// Package langchain gives langchaingo what MCP servers have: tools for its agents, prompts as templates, resources as
// documents. It also makes a source of langchaingo's tools for package agent.
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

// Tools returns the tools of a source for langchaingo's agents, each an [*adapter.Tool]. These agents
// show a model the name and the description only, so the description tells
// what the input must look like.
func Tools(source adapter.Source) []tools.Tool {
	var out []tools.Tool
	for _, tool := range source.Catalog(profile.Plain).Tools() {
		out = append(out, tool)
	}
	return out
}

// textSchema is the input of langchaingo's tools, which take a text.
const textSchema = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}`

// Source makes a source of langchaingo's tools. Models give each one a text, input, and
// read the text that it returns. They are functions like any other, see [adapter.Func], at the
// server "langchain" where approvals name one. Source panics if a tool is nil or has no name.
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

// function makes a function of a tool.
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
