package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/fakehost"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
)

// thinker is OpenAI's host: the model thinks, makes two calls at once, thinks and answers.
func thinker(key string) *fakehost.OpenAI {
	return &fakehost.OpenAI{Key: key, Reply: func(r *fakehost.OpenAIRequest) []fakehost.Block {
		if bytes.Contains(r.Body, []byte(`"function_call_output"`)) {
			return []fakehost.Block{{Type: "reasoning", Text: "Both are there."}, {Type: "text", Text: "done"}}
		}
		return []fakehost.Block{
			{Type: "reasoning", Text: `Two "calls" <at once>, ü.`},
			{Type: "call", ID: "call_1", Name: "look", Arguments: `{"n":1}`}, {Type: "call", ID: "call_2", Name: "look", Arguments: `{"n":2}`},
		}
	}}
}

func thinking(t *testing.T, h *fakehost.OpenAI, name string) agent.Model {
	t.Helper()
	server := memhttp.New(h)
	t.Cleanup(server.Close)
	return atHost(t, h.Key, server.Client(), name, openaimodel.Options{Host: "openai"})
}

// looking is the tool that such a model calls.
var looking = adapter.Func("look", "Looks.", func(_ context.Context, in struct {
	N int `json:"n"`
}) (string, error) {
	return fmt.Sprint("seen ", in.N), nil
}, &adapter.FuncOptions{ReadOnly: true})

// What a model thought goes back byte for byte, with the calls that it led to: the first process dies before or after a write.
func TestReasoningAtEveryBoundary(t *testing.T) {
	for name, open := range everyStore {
		t.Run(name, func(t *testing.T) {
			want, writes := thoughts(t, open(t), &dying{})
			check.Require(t, strings.Contains(want, `"encrypted_content"`) && writes >= 4,
				"got the request %s after %d writes", want, writes)
			for at := 1; at <= writes; at++ {
				for _, keep := range []bool{false, true} {
					got, _ := thoughts(t, open(t), &dying{at: at, keep: keep})
					check.Same(t, fmt.Sprintf("the last request, died at write %d, kept %v", at, keep), got, want)
				}
			}
		})
	}
}

// thoughts is the input of the last request of a run whose first process dies, and the writes of that process.
func thoughts(t *testing.T, store record.Store, first *dying) (input string, writes int) {
	t.Helper()
	host := thinker("k")
	got := survives(t, store, first, func(store record.Store, _ *record.Log) *agent.Agent {
		return newAgent(t, thinking(t, host, "gpt-6-astra"), &agent.Options{Durable: agent.Durable{Store: store}, Tools: []adapter.Source{looking}})
	})
	if invalid := host.Invalid(); len(invalid) > 0 || agent.Inside(got.State).Endpoint != "responses" && got.Status == run.StatusFinished {
		t.Errorf("got a run at %q; the host refused %q", agent.Inside(got.State).Endpoint, invalid)
	}
	all := host.Requests()
	return string(check.Value(json.Marshal(all[len(all)-1].Input))(t)), int(first.writes.Load())
}

// A host that refuses the thoughts of another key is asked again without them, once in a process; the person is told.
func TestThoughtsOfAnotherKey(t *testing.T) {
	store := record.NewMemory()
	process := func(h *fakehost.OpenAI) *agent.Agent {
		return newAgent(t, thinking(t, h, "gpt-6-sol"), &agent.Options{Durable: agent.Durable{Store: store}, Tools: []adapter.Source{looking}})
	}
	mustRun(t, process(thinker("old")), human("go"), agent.WithRun(theRun.ID))
	next := process(thinker("new"))
	for range 2 {
		got := mustRun(t, next, human("and?"), agent.WithRun(theRun.ID))
		check.Equal(t, "answer", got.Output, "done")
		told := warningsOf(got)
		check.That(t, len(told) == 1 && strings.Contains(told[0], "earlier thoughts"), "got the warnings %q", told)
	}
}

// A run continues at the API that it began at, and the person is told if its model cannot.
func TestRunStaysAtItsEndpoint(t *testing.T) {
	host := &fakehost.OpenAI{Key: "k", Reply: func(*fakehost.OpenAIRequest) []fakehost.Block {
		return []fakehost.Block{{Type: "text", Text: "done"}}
	}}
	for _, tt := range []struct {
		first, next agent.Model
		want        string
		told        int
	}{
		{thinking(t, host, "gpt-4.1"), thinking(t, host, "gpt-6-sol"), "/v1/chat/completions", 0},
		{thinking(t, host, "gpt-6-sol"), thinking(t, host, "gpt-4.1"), "/v1/responses", 0},
		{thinking(t, host, "gpt-6-sol"), play(says("Hello.")).as(model.Info{Endpoint: "messages", NoStreaming: true}), "", 1},
		{thinking(t, host, "gpt-6-sol"), agent.Fallback(
			play(breaks(&model.Error{Kind: model.ErrorAuth, Err: errors.New("no key")})).as(model.Info{Endpoint: "responses", NoStreaming: true}),
			play(says("Hello.")).as(model.Info{Endpoint: "messages"}),
		), "", 2},
	} {
		store := record.NewMemory()
		mustRun(t, newAgent(t, tt.first, &agent.Options{Durable: agent.Durable{Store: store}}), human("go"), agent.WithRun(theRun.ID))
		got := mustRun(t, newAgent(t, tt.next, &agent.Options{Durable: agent.Durable{Store: store}}), human("and?"), agent.WithRun(theRun.ID))
		all := host.Requests()
		path := all[len(all)-1].Path
		check.That(t, tt.want == "" || path == tt.want, "got a request to %s, want %s", path, tt.want)
		told := warningsOf(got)
		check.That(t, len(told) == tt.told && (tt.told <= 0 || strings.Contains(told[tt.told-1], `continues at "messages"`)), "got the warnings %q, want %d", told, tt.told)
	}
}

// Each of 20 turns sends the prompt of the turn before as it was, so that the host's cache has it:
// instructions, tools, key and items byte for byte, with the new items after them.
func TestPromptsBeginAlike(t *testing.T) {
	turn := 0
	host := &fakehost.OpenAI{Key: "k", Reply: func(*fakehost.OpenAIRequest) []fakehost.Block {
		if turn++; turn == 20 {
			return []fakehost.Block{{Type: "text", Text: "done"}}
		}
		return []fakehost.Block{
			{Type: "reasoning", Text: fmt.Sprint("Thought ", turn)},
			{Type: "call", ID: fmt.Sprint("call_", turn), Name: "look", Arguments: fmt.Sprintf(`{"n":%d}`, turn)},
		}
	}}
	a := newAgent(t, thinking(t, host, "gpt-6-sol"), &agent.Options{System: "Be brief.", Tools: []adapter.Source{looking}, Limits: run.Limits{Turns: 30}})
	answers(t, a, "done")
	requests := host.Requests()
	check.Equal(t, "requests", len(requests), 20)
	prompt := func(r *fakehost.OpenAIRequest) (head, input string) {
		var all map[string]json.RawMessage
		check.Must(t, json.Unmarshal(r.Body, &all))
		input = strings.TrimSuffix(string(all["input"]), "]")
		return fmt.Sprintf("%s %s %s", all["instructions"], all["tools"], all["prompt_cache_key"]), input
	}
	head, input := prompt(requests[0])
	check.Contains(t, "prompt", head, "Be brief.")
	check.Contains(t, "prompt", head, "look")
	for i, r := range requests[1:] {
		nextHead, next := prompt(r)
		check.That(t, nextHead == head && strings.HasPrefix(next, input) && len(next) != len(input),
			"turn %d begins with\n%s %s\nand turn %d with\n%s %s", i+1, head, input, i+2, nextHead, next)
		head, input = nextHead, next
	}
}

// A host gets back what it has sent with its calls, also from the process that continues the run: Gemini refuses a call
// without its thought signature, DeepSeek and Moonshot want their reasoning. Another host gets none of it.
func TestCallsGoBackToTheirHost(t *testing.T) {
	reply := replying(`{"role":"assistant","reasoning_content":"Hm.","tool_calls":[
		{"id":"1","type":"function","function":{"name":"pay","arguments":"{}"},"extra_content":{"google":{"thought_signature":"sig"}}},
		{"id":"2","type":"function","function":{"name":"pay","arguments":"{}"}}]}`)
	signed, thought := `{"google":{"thought_signature":"sig"}}`, `"Hm."`
	for _, tt := range []struct{ first, second, extra, reasoning string }{
		{"gemini", "gemini", signed, "null"}, {"deepseek", "deepseek", "null", thought}, {"moonshot", "moonshot", "null", thought},
		{"moonshot", "deepseek", "null", "null"}, {"gemini", "openai", "null", "null"},
	} {
		t.Run(tt.first+" "+tt.second, func(t *testing.T) {
			store := inFiles(t, &filestore.Options{NoSync: true})
			process := func(host string, w *memhttp.Wire) *agent.Agent {
				opts := &agent.Options{Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson},
					Tools: []adapter.Source{paying(new(int))}}
				return newAgent(t, at(t, host, "m", w), opts)
			}
			got := asks(t, process(tt.first, &memhttp.Wire{Replies: []string{reply}}), 2, run.QuestionApproval)
			w := &memhttp.Wire{Replies: []string{replying(`{"role":"assistant","content":"done"}`)}}
			resumed(t, process(tt.second, w), got.Questions[0].Allow(), got.Questions[1].Allow())
			called := w.Requests[0]["messages"].([]any)[1].(map[string]any)
			check.Equal(t, "role", called["role"], "assistant")
			calls := called["tool_calls"].([]any)
			check.Same(t, "extra data of the first call", jsonOf(calls[0].(map[string]any)["extra_content"]), tt.extra)
			check.Same(t, "extra data of the second call", jsonOf(calls[1].(map[string]any)["extra_content"]), "null")
			check.Same(t, "reasoning", jsonOf(called["reasoning_content"]), tt.reasoning)
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
			store := inFiles(t, &filestore.Options{NoSync: true})
			process := func(w *memhttp.Wire) *agent.Agent {
				return newAgent(t, at(t, host, "gpt-4.1", w),
					&agent.Options{Durable: agent.Durable{Store: store}, Tools: []adapter.Source{paying(new(int))}})
			}
			first := replies()
			mustRun(t, process(first), human("go"), agent.WithRun(theRun.ID))
			second := &memhttp.Wire{Replies: []string{replying(`{"role":"assistant","content":"bye"}`)}}
			mustRun(t, process(second), human("thanks"), agent.WithRun(theRun.ID))
			check.Same(t, "the loop", reasoningOf(first.Requests[2]), want[host][:2])
			check.Same(t, "the next process", reasoningOf(second.Requests[0]), want[host])
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

func jsonOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// What goes back to the host is input of the next call: the limit of tokens counts it, and so does compaction.
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
			a := newAgent(t, at(t, tt.host, "m", w), &agent.Options{
				Tools: []adapter.Source{paying(new(int))}, Limits: run.Limits{Tokens: limit}, Model: agent.ModelSettings{MaxTokens: limit},
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
			within(t, "tokens that compaction is told", told[1].Tokens, 150+tt.back, 250+tt.back+tt.back/10)
		})
	}
	less := room["openai"] - room["deepseek"]
	check.That(t, room["deepseek"] > 0 && less >= thought, "got room for the output %v, want %d tokens less where the reasoning goes back", room, thought)
}
