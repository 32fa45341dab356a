package lc_test

import (
	"encoding/json"
	"testing"

	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
)

const (
	anthropicCalls = `{"id":"1","type":"message","role":"assistant","model":"claude","stop_reason":"tool_use",
		"content":[{"type":"text","text":"Let me look."},
			{"type":"tool_use","id":"t1","name":"a","input":{"x":1}},
			{"type":"tool_use","id":"t2","name":"b","input":{}}],
		"usage":{"input_tokens":10,"output_tokens":5}}`
	anthropicAnswer = `{"id":"2","type":"message","role":"assistant","model":"claude","stop_reason":"end_turn",
		"content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":20,"output_tokens":3,"cache_read_input_tokens":7}}`
)

func TestAnthropic(t *testing.T) {
	w := &memhttp.Wire{Replies: []string{anthropicCalls, anthropicAnswer}}
	model, err := anthropic.New(anthropic.WithToken("x"), anthropic.WithModel("claude"), anthropic.WithHTTPClient(w))
	check.Must(t, err)
	got := mustRun(t, wrapping(t, model, nil, nil))
	// Every block repeats the usage of its message; it counts once.
	diff(t, "usage", got.Usage, run.Usage{Turns: 2, Calls: 2, Input: 37, Output: 8, Total: 45, Cached: 7})
	if got.FinishReason != "end_turn" {
		t.Errorf("finish reason %q, want end_turn", got.FinishReason)
	}
	diff(t, "second request", w.Requests[1]["messages"], decode(t, `[
		{"role":"user","content":[{"type":"text","text":"go"}]},
		{"role":"assistant","content":[{"type":"text","text":"Let me look."}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"a","input":{"x":1}}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"t2","name":"b","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"Error: there is no tool named \"a\". There are no tools."}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"Error: there is no tool named \"b\". There are no tools."}]}
	]`))
}

const (
	openaiCalls = `{"model":"gpt","choices":[{"finish_reason":"tool_calls","message":{"role":"assistant","content":"Let me look.",
		"tool_calls":[{"id":"t1","type":"function","function":{"name":"a","arguments":"{\"x\":1}"}},
			{"id":"t2","type":"function","function":{"name":"b","arguments":"{oops"}}]}}],
		"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"completion_tokens_details":{"reasoning_tokens":2}}}`
	openaiAnswer = `{"model":"gpt","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"Done."}}],
		"usage":{"prompt_tokens":20,"completion_tokens":3,"total_tokens":23}}`
)

func TestOpenAI(t *testing.T) {
	w := &memhttp.Wire{Replies: []string{openaiCalls, openaiAnswer}}
	model, err := openai.New(openai.WithToken("x"), openai.WithModel("gpt"), openai.WithHTTPClient(w))
	check.Must(t, err)
	got := mustRun(t, wrapping(t, model, nil, nil))
	diff(t, "usage", got.Usage, run.Usage{Turns: 2, Calls: 2, Input: 30, Output: 8, Total: 38, Reasoning: 2})
	messages := w.Requests[1]["messages"].([]any)
	diff(t, "replayed calls", messages[1].(map[string]any)["tool_calls"], decode(t, `[
		{"id":"t1","type":"function","function":{"name":"a","arguments":"{\"x\":1}"}},
		{"id":"t2","type":"function","function":{"name":"b","arguments":"{}"}}
	]`))
	for i, id := range []string{"t1", "t2"} {
		message := messages[2+i].(map[string]any)
		if message["role"] != "tool" || message["tool_call_id"] != id {
			t.Errorf("message %d is %v, want the tool message of %s", 2+i, message, id)
		}
	}
	// The history keeps what the model wrote.
	if call := got.Messages[1].Parts[2]; call.Arguments != "{oops" {
		t.Errorf("arguments in the history %q, want what the model wrote", call.Arguments)
	}
}

func mustRun(t *testing.T, a *agent.Agent) *agent.Result {
	t.Helper()
	result, err := a.Run(t.Context(), agent.Text("go"))
	check.Must(t, err)
	return result
}

func diff(t *testing.T, what string, got, want any) {
	t.Helper()
	check.Same(t, what, got, want)
}

func decode(t *testing.T, text string) any {
	t.Helper()
	var v any
	check.Must(t, json.Unmarshal([]byte(text), &v))
	return v
}
