package adapter

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tmc/langchaingo/tools"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// langchainSchema is the input of langchaingo's tools, which take a text.
const langchainSchema = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}`

// Langchain makes a source of langchaingo's tools. Models give each one a text, input, and
// read the text that it returns. They are functions like any other, see [Func], at the
// server "langchain" where approvals name one. A [*Tool] is what it is, with its schema,
// at its server. Langchain panics if a tool is nil or has no name.
func Langchain(all ...tools.Tool) *Merged {
	sources := make([]Source, len(all))
	for i, tool := range all {
		switch tool := tool.(type) {
		case nil:
			panic(fmt.Sprintf("adapter: tool %d is nil", i))
		case *Tool:
			sources[i] = sourceOf(tool, (*Options)(nil).withDefaults())
		default:
			sources[i] = langchain(tool)
		}
	}
	return Merge(sources...)
}

// langchain makes a function of a tool.
func langchain(tool tools.Tool) *FuncTool {
	def := &mcp.Tool{Name: tool.Name(), Description: tool.Description(), InputSchema: json.RawMessage(langchainSchema)}
	f, err := NewFuncTool(def, func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
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
		return resultOf(out)
	}, &FuncOptions{Server: "langchain"})
	if err != nil {
		panic("adapter: " + err.Error())
	}
	return f
}
