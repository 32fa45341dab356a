package adapter

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// No profile changes the texts of a tool: the model gets what a person reviewed or pinned.
func TestTextsOfToolsAreUnchanged(t *testing.T) {
	const text = "do \x1b[2J\u0085\u202e\u200b\U000e0041 it"
	encode := func(v any) string {
		raw, err := json.Marshal(v)
		check.Must(t, err)
		return string(raw)
	}
	word := encode(text)
	def := &mcp.Tool{Name: "f", Description: text, InputSchema: json.RawMessage(
		`{"type":"object","properties":{"a":{"type":"string","description":` + word + `,"enum":[` + word + `]}},"required":["a"]}`)}
	tool, err := NewFuncTool(def, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return nil, nil }, nil)
	check.Must(t, err)
	for _, target := range []profile.Profile{profile.Plain, profile.OpenAI, profile.OpenAIStrict, profile.Anthropic, profile.Gemini, profile.GoogleAI} {
		got := tool.Catalog(target).Definitions()[0].Function
		var schema struct {
			Properties struct {
				A struct {
					Description string
					Enum        []string
				}
			}
		}
		check.Must(t, json.Unmarshal([]byte(encode(got.Parameters)), &schema))
		a := schema.Properties.A
		enum := target == profile.GoogleAI || len(a.Enum) == 1 && a.Enum[0] == text // GoogleAI has it in the description
		if got.Description != text || !strings.HasPrefix(a.Description, text) || !enum {
			t.Errorf("%s: got %q and %q, want the texts as they were", target, got.Description, a)
		}
	}
}
