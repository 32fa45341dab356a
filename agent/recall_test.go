package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/memhttp"
)

// A host gets back what it has sent with its calls, also from the process that continues the
// run: Gemini refuses a call without its thought signature, DeepSeek and Moonshot want their reasoning.
// Another host gets none of it.
func TestCallsGoBackToTheirHost(t *testing.T) {
	reply := replying(`{"role":"assistant","reasoning_content":"Hm.","tool_calls":[
		{"id":"1","type":"function","function":{"name":"pay","arguments":"{}"},"extra_content":{"google":{"thought_signature":"sig"}}},
		{"id":"2","type":"function","function":{"name":"pay","arguments":"{}"}}]}`)
	signed, thought := `{"google":{"thought_signature":"sig"}}`, `"Hm."`
	for _, tt := range []struct{ first, second, extra, reasoning string }{
		{"gemini", "gemini", signed, "null"},
		{"deepseek", "deepseek", "null", thought},
		{"moonshot", "moonshot", "null", thought},
		{"moonshot", "deepseek", "null", "null"},
		{"gemini", "openai", "null", "null"},
	} {
		t.Run(tt.first+" "+tt.second, func(t *testing.T) {
			store := inFiles(t, filestore.SyncNever)
			process := func(host string, w *memhttp.Wire) *agent.Agent {
				pay := adapter.Func("pay", "Pays.", func(context.Context, struct{}) (string, error) { return "paid", nil }, nil)
				opts := &agent.Options{Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson}, Tools: []adapter.Source{pay}}
				return newAgent(t, at(t, host, "m", w), opts)
			}
			got := asks(t, process(tt.first, &memhttp.Wire{Replies: []string{reply}}), 2, run.QuestionApproval)
			w := &memhttp.Wire{Replies: []string{replying(`{"role":"assistant","content":"done"}`)}}
			answers := []run.Reply{got.Questions[0].Allow(), got.Questions[1].Allow()}
			resumed(t, process(tt.second, w), answers...)
			called := messageOf(t, w.Requests[0], "assistant")
			calls := called["tool_calls"].([]any)
			diff(t, "extra data of the first call", jsonOf(calls[0].(map[string]any)["extra_content"]), tt.extra)
			diff(t, "extra data of the second call", jsonOf(calls[1].(map[string]any)["extra_content"]), "null")
			diff(t, "reasoning", jsonOf(called["reasoning_content"]), tt.reasoning)
		})
	}
}

// Reasoning goes back in the field that the host reads, on every message that had some, plain ones
// too, and also from another process. A host that insists on it has a space for what is missing.
func TestReasoningGoesBack(t *testing.T) {
	details := `[{"data":"c2ln","index":0,"type":"reasoning.encrypted"}]`
	replies := func() *memhttp.Wire {
		said := func(rest string) string {
			return replying(`{"role":"assistant","reasoning_content":"Hm.","reasoning_details":` + details + `,` + rest + `}`)
		}
		return &memhttp.Wire{Replies: []string{
			said(`"tool_calls":[{"id":"1","type":"function","function":{"name":"pay","arguments":"{}"}}]`),
			replying(`{"role":"assistant","tool_calls":[{"id":"2","type":"function","function":{"name":"pay","arguments":"{}"}}]}`),
			said(`"content":"paid"`),
		}}
	}
	echo := func(field, value, missing string) []string {
		with := func(value string) string {
			if value == "" {
				return `{}`
			}
			return fmt.Sprintf(`{%q:%s}`, field, value)
		}
		return []string{with(value), with(missing), with(value)}
	}
	content, none := echo("reasoning_content", `"Hm."`, ""), echo("", "", "")
	all := echo("reasoning_content", `"Hm."`, `" "`)
	want := map[string][]string{
		"compatible": content, "vllm": content, "llamacpp": content, "lmstudio": content, "deepseek": all, "moonshot": all,
		"ollama": echo("reasoning", `"Hm."`, ""), "openrouter": echo("reasoning_details", details, ""),
		"openai": none, "azure": none, "groq": none, "together": none, "gemini": none, "mistral": none,
	}
	for _, host := range chat.Hosts() {
		t.Run(host, func(t *testing.T) {
			store := inFiles(t, filestore.SyncNever)
			process := func(w *memhttp.Wire) *agent.Agent {
				pay := adapter.Func("pay", "Pays.", func(context.Context, struct{}) (string, error) { return "paid", nil }, nil)
				return newAgent(t, at(t, host, "gpt-4.1", w), &agent.Options{Durable: agent.Durable{Store: store}, Tools: []adapter.Source{pay}})
			}
			first := replies()
			mustRun(t, process(first), human("go"), agent.In(theRun.ID))
			second := &memhttp.Wire{Replies: []string{replying(`{"role":"assistant","content":"bye"}`)}}
			mustRun(t, process(second), human("thanks"), agent.In(theRun.ID))
			diff(t, "the loop", reasoningOf(first.Requests[2]), want[host][:2])
			diff(t, "the next process", reasoningOf(second.Requests[0]), want[host])
		})
	}
}

// reasoningOf is the reasoning in each message of the assistant of a request.
func reasoningOf(request map[string]any) (all []string) {
	for _, m := range request["messages"].([]any) {
		if m := m.(map[string]any); m["role"] == "assistant" {
			fields := map[string]any{}
			for key, value := range m {
				if strings.HasPrefix(key, "reasoning") {
					fields[key] = value
				}
			}
			all = append(all, jsonOf(fields))
		}
	}
	return all
}

// messageOf is the first message of a role in a request.
func messageOf(t *testing.T, request map[string]any, role string) map[string]any {
	t.Helper()
	for _, m := range request["messages"].([]any) {
		if m := m.(map[string]any); m["role"] == role {
			return m
		}
	}
	t.Fatalf("got no message of role %q in %v", role, request)
	return nil
}

func jsonOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// What goes back to the host is input of the next call: the limit of tokens counts it, and so does
// compaction.
func TestWhatGoesBackCounts(t *testing.T) {
	const limit, thought = 200_000, 20_000 // tokens
	reply := func(usage string) string {
		return fmt.Sprintf(`{"model":"m","choices":[{"finish_reason":"tool_calls","message":{"role":"assistant","reasoning_content":%q,
			"tool_calls":[{"id":"1","type":"function","function":{"name":"pay","arguments":"{}"}}]}}],"usage":%s}`, strings.Repeat("hm. ", thought), usage)
	}
	counted := fmt.Sprintf(`{"prompt_tokens":100,"completion_tokens":%d,"total_tokens":%[2]d,"completion_tokens_details":{"reasoning_tokens":%[3]d}}`, thought+50, thought+150, thought)
	room := map[string]int64{} // for the output of the second call
	for _, tt := range []struct {
		host string
		back int64 // tokens
	}{{"deepseek", thought}, {"openai", 0}} {
		t.Run(tt.host, func(t *testing.T) {
			var told []compact.Budget
			w := &memhttp.Wire{Replies: []string{reply(counted), replying(`{"role":"assistant","content":"done"}`)}}
			pay := adapter.Func("pay", "Pays.", func(context.Context, struct{}) (string, error) { return "paid", nil }, nil)
			a := newAgent(t, at(t, tt.host, "m", w), &agent.Options{
				Tools: []adapter.Source{pay}, Limits: run.Limits{Tokens: limit},
				Model: agent.ModelSettings{MaxTokens: limit},
				Compact: func(_ context.Context, _ []run.Message, b compact.Budget) (*compact.Result, error) {
					told = append(told, b)
					return nil, nil
				},
			})
			mustRun(t, a, human("go"))
			second := w.Requests[1]
			most, ok := second["max_tokens"].(float64)
			if !ok {
				most, _ = second["max_completion_tokens"].(float64)
			}
			room[tt.host] = int64(most)
			if got := told[1].Tokens; got < 150+tt.back || got > 250+tt.back+tt.back/10 {
				t.Errorf("compaction is told %d tokens, want about %d", got, 150+tt.back)
			}
		})
	}
	if less := room["openai"] - room["deepseek"]; room["deepseek"] <= 0 || less < thought {
		t.Errorf("got room for the output %v, want %d tokens less where the reasoning goes back", room, thought)
	}
}
