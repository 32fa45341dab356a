package agent

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tmc/langchaingo/llms"
)

func TestDetect(t *testing.T) {
	const providers = "github.com/tmc/langchaingo/llms/"
	for path, want := range map[string]Dialect{
		providers + "openai":          DialectOpenAI,
		providers + "anthropic":       DialectAnthropic,
		providers + "bedrock":         DialectAnthropic,
		providers + "googleai":        DialectGoogle,
		providers + "googleai/vertex": DialectGoogle,
		providers + "mistral":         DialectMistral,
		"example.com/fork/anthropic":  DialectOpenAI,
	} {
		if got := detect(path); got != want {
			t.Errorf("detect(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestEncode(t *testing.T) {
	text := func(s string) llms.ContentPart { return llms.TextContent{Text: s} }
	call := func(id, args string) llms.ContentPart {
		return llms.ToolCall{ID: id, Type: "function", FunctionCall: &llms.FunctionCall{Name: "f", Arguments: args}}
	}
	answer := func(id string) llms.ContentPart { return llms.ToolCallResponse{ToolCallID: id, Name: "f", Content: id} }
	message := func(role llms.ChatMessageType, parts ...llms.ContentPart) llms.MessageContent {
		return llms.MessageContent{Role: role, Parts: parts}
	}
	const ai, tool, user = llms.ChatMessageTypeAI, llms.ChatMessageTypeTool, llms.ChatMessageTypeHuman
	history := []llms.MessageContent{
		message(user, text("a"), text("b")),
		message(ai, text(" \n"), call("1", `{"x":1}`), call("2", `[1]`)),
		message(tool, answer("1")),
		message(tool, answer("2")),
		message(ai),
		message(ai, text("c")),
	}
	for d, want := range map[Dialect][]llms.MessageContent{
		DialectOpenAI: {
			message(user, text("a"), text("b")),
			message(ai, text(" \n"), call("1", `{"x":1}`), call("2", `{}`)),
			message(tool, answer("1")),
			message(tool, answer("2")),
			message(ai, text("c")),
		},
		DialectAnthropic: {
			message(user, text("a"), text("b")),
			message(ai, call("1", `{"x":1}`)),
			message(ai, call("2", `{}`)),
			message(tool, answer("1")),
			message(tool, answer("2")),
			message(ai, text("c")),
		},
		DialectGoogle: {
			message(user, text("a"), text("b")),
			message(ai, text(" \n"), call("1", `{"x":1}`), call("2", `{}`)),
			message(tool, answer("1"), answer("2")),
			message(ai, text("c")),
		},
	} {
		before, err := json.Marshal(history)
		if err != nil {
			t.Fatal(err)
		}
		rules, err := d.rules(nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, rules.encode(history)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", d, diff)
		}
		if after, _ := json.Marshal(history); string(after) != string(before) {
			t.Errorf("%s: encode changed the history to %s", d, after)
		}
	}
}

func TestWithObject(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"x":1}`: `{"x":1}`, ` {} `: ` {} `, `null`: `{}`, `"x"`: `{}`, `{"x":`: `{}`, ``: `{}`,
	} {
		got := withObject(llms.ToolCall{FunctionCall: &llms.FunctionCall{Name: "f", Arguments: arguments}})
		if got.FunctionCall.Arguments != want || got.FunctionCall.Name != "f" {
			t.Errorf("withObject(%q) = %+v, want arguments %q", arguments, got.FunctionCall, want)
		}
	}
	withObject(llms.ToolCall{}) // must not panic
}

func TestDefinitionsForGoogle(t *testing.T) {
	tools := []llms.Tool{
		{Type: "function", Function: &llms.FunctionDefinition{Name: "a", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}}}`)}},
		{Type: "function", Function: &llms.FunctionDefinition{Name: "b", Parameters: json.RawMessage(`broken`)}},
		{Type: "function"},
	}
	rules, err := DialectGoogle.rules(nil)
	if err != nil {
		t.Fatal(err)
	}
	got := rules.definitions(tools)
	want := []llms.Tool{
		{Type: "function", Function: &llms.FunctionDefinition{Name: "a", Parameters: map[string]any{
			"type": "object", "properties": map[string]any{"x": map[string]any{"type": "string"}},
		}}},
		{Type: "function", Function: &llms.FunctionDefinition{Name: "b", Parameters: json.RawMessage(`broken`)}},
		{Type: "function"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("definitions (-want +got):\n%s", diff)
	}
	if _, ok := tools[0].Function.Parameters.(json.RawMessage); !ok {
		t.Error("the toolset's definition was changed")
	}
}
