package convert_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/internal/convert"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
)

var hi = []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "Hi")}

// replying yields these deltas, then the error.
func replying(err error, deltas ...model.Delta) func(*model.Request, *llms.CallOptions) iter.Seq2[model.Delta, error] {
	return func(*model.Request, *llms.CallOptions) iter.Seq2[model.Delta, error] {
		return func(yield func(model.Delta, error) bool) {
			for _, d := range deltas {
				if !yield(d, nil) {
					return
				}
			}
			if err != nil {
				yield(model.Delta{}, err)
			}
		}
	}
}

func TestGenerate(t *testing.T) {
	reply := &model.Response{
		Message: message(run.RoleAssistant, run.Part{Type: run.PartReasoning, Text: "hm"}, text("a"), run.Part{Type: run.PartReasoning, Text: "ah"}, call("1", "{}")),
		ID:      "id", Finish: "tool_calls", Warning: "careful", Usage: run.Usage{Input: 3, Output: 2, Total: 5, Cached: 1},
	}
	var streamed []string
	got, err := convert.Generate(t.Context(), hi, []llms.CallOption{llms.WithStreamingReasoningFunc(func(_ context.Context, thought, piece []byte) error {
		streamed = append(streamed, string(thought)+"/"+string(piece))
		return nil
	})}, replying(nil, model.Delta{Reasoning: "hm"}, model.Delta{Text: "a"}, model.Delta{Response: reply}))
	function := &llms.FunctionCall{Name: "f", Arguments: "{}"}
	want := &llms.ContentResponse{Choices: []*llms.ContentChoice{{
		Content: "a", ReasoningContent: "hm\n\nah", StopReason: "tool_calls", FuncCall: function,
		ToolCalls: []llms.ToolCall{{ID: "1", Type: "function", FunctionCall: function}},
		GenerationInfo: map[string]any{
			"Model": "", "ID": "id", "Warning": "careful", "PromptTokens": 3, "CompletionTokens": 2, "TotalTokens": 5,
			"PromptCachedTokens": 1, "CacheCreationInputTokens": 0, "ReasoningTokens": 0,
		},
	}}}
	check.Must(t, err)
	check.Same(t, "response", got, want)
	check.Equal(t, "streamed", strings.Join(streamed, " "), "hm/ /a")
}

func TestGenerateErrors(t *testing.T) {
	f, failed := &llms.FunctionDefinition{Name: "f"}, errors.New("failed")
	failing := func(context.Context, []byte) error { return failed }
	one := func(role llms.ChatMessageType, parts ...llms.ContentPart) []llms.MessageContent {
		return []llms.MessageContent{{Role: role, Parts: parts}}
	}
	for _, tt := range []struct {
		want     string
		messages []llms.MessageContent
		option   llms.CallOption
	}{
		{"more than one candidate", hi, llms.WithN(2)},
		{`message 0: role "x" is unknown`, one("x"), nil},
		{`tool choice "sometimes"`, hi, llms.WithToolChoice("sometimes")},
		{"tool choice 3 is not", hi, llms.WithToolChoice(3)},
		{"tool choice llms.ToolChoice{", hi, llms.WithToolChoice(llms.ToolChoice{})},
		{"tool 0 is not a function", hi, llms.WithTools([]llms.Tool{{Type: "web"}})},
		{`tool "f": parameters`, hi, llms.WithTools([]llms.Tool{{Function: &llms.FunctionDefinition{Name: "f", Parameters: json.RawMessage("{")}}})},
		{"without a function", one(llms.ChatMessageTypeAI, llms.ToolCall{ID: "a"}), nil},
		{`role "user" cannot have a part of type "call"`, one(llms.ChatMessageTypeHuman, llms.ToolCall{FunctionCall: &llms.FunctionCall{Name: "f"}}), nil},
		{`role "tool" cannot have a part of type "text"`, one(llms.ChatMessageTypeTool, llms.TextPart("x")), nil},
		{"failed", hi, llms.WithFunctions([]llms.FunctionDefinition{*f})},
		{"failed", hi, llms.WithStreamingFunc(failing)},
		{"failed", hi, llms.WithStreamingReasoningFunc(func(context.Context, []byte, []byte) error { return failed })},
		{"failed", hi, llms.WithTemperature(1)},
	} {
		var options []llms.CallOption
		if tt.option != nil {
			options = append(options, tt.option)
		}
		check.Text(t, check.Err(convert.Generate(t.Context(), tt.messages, options, replying(failed, model.Delta{Text: "a"}))), tt.want)
	}
	check.Text(t, check.Err(convert.Generate(t.Context(), hi, nil, replying(nil))), "no reply")
}
