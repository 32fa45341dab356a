package convert_test

import (
	"testing"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/internal/convert"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestFromResponse joins the blocks of langchaingo's Anthropic provider.
func TestFromResponse(t *testing.T) {
	response := &llms.ContentResponse{Choices: []*llms.ContentChoice{
		{GenerationInfo: map[string]any{"ThinkingContent": "hm. ", "OutputTokens": 4}, StopReason: "tool_use"},
		{Content: "a", ReasoningContent: "ah.", GenerationInfo: map[string]any{"ThinkingContent": "ah."}},
		{Content: "b", ToolCalls: []llms.ToolCall{{ID: "1", FunctionCall: &llms.FunctionCall{Name: "f", Arguments: `{"x":1}`}}}},
		{ToolCalls: []llms.ToolCall{{ID: "2"}}, GenerationInfo: map[string]any{"OutputTokens": 5, "Model": "m"}},
		{FuncCall: &llms.FunctionCall{Name: "old"}},
		{Content: "<thinking>x</thinking>y", GenerationInfo: map[string]any{"ThinkingContent": "x"}},
	}}
	want := run.Message{Role: run.RoleAssistant, Model: "m", Parts: []run.Part{
		{Type: run.PartReasoning, Text: "hm. "}, {Type: run.PartReasoning, Text: "ah."}, text("a"), text("b"),
		call("1", `{"x":1}`), {Type: run.PartCall, ID: "2", Arguments: "{}"},
		{Type: run.PartCall, Name: "old", Arguments: "{}"}, text("<thinking>x</thinking>y"),
	}}
	check.Same(t, "message", convert.FromResponse(response), want)
	check.Equal(t, "finish", convert.Finish(response), "tool_use")
	check.Equal(t, "output tokens of the first choice", convert.Usage(response).Output, 4)
	check.Same(t, "no response", convert.FromResponse(nil), run.Message{Role: run.RoleAssistant})
}

func TestUsage(t *testing.T) {
	type mistral struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
		TotalTokens      int `json:"total_tokens"`
	}
	for name, test := range map[string]struct {
		info map[string]any
		want run.Usage
	}{
		"none":      {nil, run.Usage{}},
		"openai":    {map[string]any{"PromptTokens": 3, "CompletionTokens": 2, "TotalTokens": 5, "PromptCachedTokens": 1, "ReasoningTokens": 1}, run.Usage{Input: 3, Output: 2, Total: 5, Cached: 1, Reasoning: 1}},
		"anthropic": {map[string]any{"InputTokens": 3, "OutputTokens": 2, "CacheReadInputTokens": 9, "CacheCreationInputTokens": 4}, run.Usage{Input: 16, Output: 2, Total: 18, Cached: 9, CacheWrite: 4}},
		"ours":      {map[string]any{"PromptTokens": 16, "CompletionTokens": 2, "TotalTokens": 18, "PromptCachedTokens": 9, "CacheCreationInputTokens": 4}, run.Usage{Input: 16, Output: 2, Total: 18, Cached: 9, CacheWrite: 4}},
		"google":    {map[string]any{"input_tokens": int32(3), "output_tokens": int32(2), "total_tokens": int32(6), "PromptTokens": int32(3), "CachedTokens": int32(1), "CacheReadInputTokens": int32(1), "ThinkingTokens": 0}, run.Usage{Input: 3, Output: 3, Total: 6, Cached: 1, Reasoning: 1}},
		"bedrock":   {map[string]any{"input_tokens": int64(3), "output_tokens": float64(2)}, run.Usage{Input: 3, Output: 2, Total: 5}},
		"unsigned":  {map[string]any{"input_tokens": uint8(3)}, run.Usage{Input: 3, Total: 3}},
		"mistral":   {map[string]any{"usage": mistral{3, 2, 5}}, run.Usage{Input: 3, Output: 2, Total: 5}},
		"nonsense":  {map[string]any{"input_tokens": "three", "output_tokens": -2, "usage": make(chan int)}, run.Usage{}},
		"absurd":    {map[string]any{"input_tokens": uint64(1 << 63), "output_tokens": 1e300}, run.Usage{Input: 1 << 40, Output: 1 << 40, Total: 1 << 41}},
	} {
		got := convert.Usage(&llms.ContentResponse{Choices: []*llms.ContentChoice{{GenerationInfo: test.info}}})
		check.Same(t, name, got, test.want)
	}
}
