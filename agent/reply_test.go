package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tmc/langchaingo/llms"
)

func TestReplyJoinsChoices(t *testing.T) {
	function := &llms.FunctionCall{Name: "f", Arguments: `{"x":1}`}
	got := newReply(&llms.ContentResponse{Choices: []*llms.ContentChoice{
		{GenerationInfo: map[string]any{"ThinkingContent": "hm. ", "OutputTokens": 4}, StopReason: "tool_use"},
		{Content: "a", ReasoningContent: "ah."},
		nil,
		{Content: "b", ToolCalls: []llms.ToolCall{{ID: "1", FunctionCall: function}}},
		{ToolCalls: []llms.ToolCall{{ID: "2"}}, GenerationInfo: map[string]any{"OutputTokens": 5}},
	}}, nil)
	want := &reply{
		text: "ab", reasoning: "hm. ah.", stop: "tool_use",
		usage: Usage{OutputTokens: 4, TotalTokens: 4},
		calls: []llms.ToolCall{
			{ID: "1", Type: "function", FunctionCall: &llms.FunctionCall{Name: "f", Arguments: `{"x":1}`}},
			{ID: "2", Type: "function", FunctionCall: &llms.FunctionCall{Arguments: "{}"}},
		},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(reply{})); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
	if got.calls[0].FunctionCall == function {
		t.Error("the call shares memory with the response")
	}
}

func TestReplyTakesOldFunctionCall(t *testing.T) {
	got := newReply(&llms.ContentResponse{Choices: []*llms.ContentChoice{{FuncCall: &llms.FunctionCall{Name: "f"}}}}, nil)
	if len(got.calls) != 1 || got.calls[0].FunctionCall.Name != "f" || got.calls[0].ID == "" {
		t.Errorf("calls %+v, want one of f with an id", got.calls)
	}
}

func TestCallIDsAreUnique(t *testing.T) {
	// Ids that are missing, repeat within the message, and repeat one of the
	// history; among them one that the agent itself might give.
	history := []llms.MessageContent{{Parts: []llms.ContentPart{llms.ToolCall{ID: "call_2"}, llms.ToolCall{ID: "old"}}}}
	var calls []llms.ToolCall
	for _, id := range []string{"", "a", "a", "old", "call_3", ""} {
		calls = append(calls, llms.ToolCall{ID: id})
	}
	nameCalls(calls, history)
	seen := map[string]bool{"": true, "call_2": true, "old": true}
	for i, call := range calls {
		if seen[call.ID] {
			t.Errorf("call %d: id %q is empty or taken", i, call.ID)
		}
		seen[call.ID] = true
	}
	if calls[1].ID != "a" {
		t.Errorf("a good id was changed to %q", calls[1].ID)
	}
}

func TestUsage(t *testing.T) {
	type mistral struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
		TotalTokens      int `json:"total_tokens"`
	}
	for name, test := range map[string]struct {
		info map[string]any
		want Usage
	}{
		"none":      {nil, Usage{}},
		"openai":    {map[string]any{"PromptTokens": 3, "CompletionTokens": 2, "TotalTokens": 5, "PromptCachedTokens": 1, "ReasoningTokens": 1}, Usage{3, 2, 5, 1, 1}},
		"anthropic": {map[string]any{"InputTokens": 3, "OutputTokens": 2, "CacheReadInputTokens": 9}, Usage{3, 2, 5, 9, 0}},
		"google":    {map[string]any{"input_tokens": int32(3), "output_tokens": int32(2), "total_tokens": int32(6), "PromptTokens": int32(3), "ThinkingTokens": 0}, Usage{3, 2, 6, 0, 0}},
		"bedrock":   {map[string]any{"input_tokens": int64(3), "output_tokens": float64(2)}, Usage{3, 2, 5, 0, 0}},
		"unsigned":  {map[string]any{"input_tokens": uint8(3)}, Usage{3, 0, 3, 0, 0}},
		"mistral":   {map[string]any{"usage": mistral{3, 2, 5}}, Usage{3, 2, 5, 0, 0}},
		"nonsense":  {map[string]any{"input_tokens": "three", "output_tokens": -2, "usage": make(chan int)}, Usage{}},
	} {
		if got := usageOf(test.info); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}
