package convert

import (
	"encoding/json"
	"testing"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestToolsForGoogle(t *testing.T) {
	tools := []llms.Tool{
		{Type: "function", Function: &llms.FunctionDefinition{Name: "a", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}}}`)}},
		{Type: "function", Function: &llms.FunctionDefinition{Name: "b", Parameters: json.RawMessage(`broken`)}},
		{Type: "function"},
	}
	want := []llms.Tool{
		{Type: "function", Function: &llms.FunctionDefinition{Name: "a", Parameters: map[string]any{
			"type": "object", "properties": map[string]any{"x": map[string]any{"type": "string"}},
		}}},
		{Type: "function", Function: &llms.FunctionDefinition{Name: "b", Parameters: json.RawMessage(`broken`)}},
		{Type: "function"},
	}
	check.Same(t, "tools", Google.Tools(tools), want)
	if _, ok := tools[0].Function.Parameters.(json.RawMessage); !ok {
		t.Error("the caller's definition was changed")
	}
	if got := OpenAI.Tools(tools); &got[0] != &tools[0] {
		t.Error("got other tools for OpenAI, want the same")
	}
}
