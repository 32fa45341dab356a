// Package langchain connects langchaingo with MCP servers: their tools for its agents, their prompts as messages, and
// their resources as documents. It also makes langchaingo's tools a source for package agent.
//
// The guide is docs/adapter.md of the repository.
package langchain

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/tools"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/toolschema"
)

// Tools returns the tools of a source for langchaingo's agents. These agents show a model only the
// name and the description, so the description says what the input must look like.
//
// A call parses its input as [adapter.Catalog.Prepare] does, and returns the text for the model. A failed tool and
// invalid arguments are text, too. An error is that of [adapter.Result.Fatal]: continuing makes no sense.
func Tools(source adapter.Source) []tools.Tool {
	catalog := source.Catalog(profile.Plain)
	var out []tools.Tool
	for _, definition := range catalog.Definitions() {
		out = append(out, &tool{catalog, definition.Function})
	}
	return out
}

// tool is a tool of a catalog for langchaingo's agents.
type tool struct {
	catalog    *adapter.Catalog
	definition *llms.FunctionDefinition
}

// Name implements [tools.Tool].
func (t *tool) Name() string { return t.definition.Name }

// maxDescription is the longest description of a function that OpenAI accepts, in bytes.
const maxDescription = 1024

// Description implements [tools.Tool]. It returns the purpose of the tool and the JSON Schema of
// its input or, if that is too long, a list of the parameters.
func (t *tool) Description() string {
	parameters, _ := t.definition.Parameters.(json.RawMessage)
	var compact bytes.Buffer
	if err := json.Compact(&compact, parameters); err == nil {
		full := t.definition.Description + "\nThe input is a JSON object that fits this JSON Schema: " + compact.String()
		if len(full) <= maxDescription {
			return full
		}
	}
	input := "\nThe input is a JSON object with these properties:"
	if schema, err := toolschema.New(parameters, new(schema.Cache)); err == nil {
		input += schema.List()
	}
	return excerpt.Limit(t.definition.Description, maxDescription/2) + excerpt.Limit(input, maxDescription/2)
}

// Call implements [tools.Tool].
func (t *tool) Call(ctx context.Context, input string) (string, error) {
	function := &llms.FunctionCall{Name: t.definition.Name, Arguments: input}
	r := t.catalog.Call(ctx, llms.ToolCall{Type: "function", FunctionCall: function})
	if err := r.Fatal(); err != nil {
		return "", err
	}
	return r.Text, nil
}

// Source returns a source of langchaingo's tools. Each becomes a function ([adapter.Func]) with one string
// parameter, "input". Approvals name the server "langchain". Source panics if a tool is nil or has no name.
func Source(all ...tools.Tool) adapter.Source {
	sources := make([]adapter.Source, len(all))
	for i, t := range all {
		if t == nil {
			panic(fmt.Sprintf("langchain: tool %d is nil", i))
		}
		sources[i] = function(t)
	}
	return adapter.Merge(sources...)
}

// function returns the function that calls a tool.
func function(tool tools.Tool) adapter.Source {
	type text struct {
		Input string `json:"input"`
	}
	return adapter.Func(tool.Name(), tool.Description(), func(ctx context.Context, in text) (string, error) {
		return tool.Call(ctx, in.Input)
	}, &adapter.FuncOptions{Server: "langchain"})
}
