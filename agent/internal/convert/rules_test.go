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
	_, ok := tools[0].Function.Parameters.(json.RawMessage)
	check.That(t, ok, "the caller's definition was changed")
	got := OpenAI.Tools(tools)
	check.That(t, &got[0] == &tools[0], "got other tools for OpenAI, want the same")
}
