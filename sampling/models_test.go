package sampling

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/fakehost"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/price"
)

func catalogue() []Model {
	return []Model{
		{ID: "gpt-5-mini", StandsFor: []string{"haiku", "flash"}, Tools: true, Images: true,
			Context: 400_000, price: &price.Price{Input: 250_000, Output: 2_000_000}, Speed: 120, Intelligence: 5},
		{ID: "gpt-5", StandsFor: []string{"sonnet"}, Tools: true, Images: true,
			Context: 400_000, price: &price.Price{Input: 1_250_000, Output: 10_000_000}, Speed: 60, Intelligence: 9},
		{ID: "gpt-audio", Audio: true, Context: 1000, price: &price.Price{Input: 2_500_000, Output: 10_000_000}, Speed: 80, Intelligence: 4},
	}
}

func TestModelChoice(t *testing.T) {
	const text = `{"type":"text","text":"Hi"}`
	asking := func(content, rest string) string {
		return `{"maxTokens":10,"messages":[{"role":"user","content":` + content + `}]` + rest + `}`
	}
	prefer := func(prefs string) string { return asking(text, `,"modelPreferences":`+prefs) }
	for _, tt := range []struct{ name, params, want, reason string }{
		{"nothing preferred", asking(text, ""), "gpt-5", "the default"},
		{"exact hint", prefer(`{"hints":[{"name":"gpt-5"}]}`), "gpt-5", `the hint "gpt-5"`},
		{"part of a name", prefer(`{"hints":[{"name":"MINI"}]}`), "gpt-5-mini", `the hint "MINI"`},
		{"another maker's", prefer(`{"hints":[{"name":"claude-3-haiku-20240307"}]}`), "gpt-5-mini", "haiku"},
		{"the first that fits", prefer(`{"hints":[{"name":""},{"name":"llama"},{"name":"haiku"},{"name":"gpt-5"}]}`), "gpt-5-mini", `the hint "haiku"`},
		{"no hint fits", prefer(`{"hints":[{"name":"llama"}]}`), "gpt-5", "the default"},
		{"several fit, the default among them", prefer(`{"hints":[{"name":"gpt"}]}`), "gpt-5", `the hint "gpt"; the default`},
		{"several fit, and one is fastest", prefer(`{"hints":[{"name":"gpt"}],"speedPriority":1}`), "gpt-5-mini", "speed 1"},
		{"cheap", prefer(`{"costPriority":0.9,"intelligencePriority":0.1}`), "gpt-5-mini", "cost 0.9"},
		{"wise", prefer(`{"costPriority":0.1,"intelligencePriority":0.9}`), "gpt-5", "intelligence 0.9"},
		{"a hint beats the priorities", prefer(`{"hints":[{"name":"mini"}],"intelligencePriority":1}`), "gpt-5-mini", "mini"},
		{"priorities out of range", prefer(`{"costPriority":-1,"speedPriority":0,"intelligencePriority":7}`), "gpt-5", "intelligence 1"},
		{"sounds", asking(`{"type":"audio","data":"AAAA","mimeType":"audio/wav"}`, ""), "gpt-audio", "gpt-5 (no audio)"},
		{"images", asking(`{"type":"image","data":"AAAA","mimeType":"image/png"}`, `,"modelPreferences":{"hints":[{"name":"audio"}]}`), "gpt-5", "gpt-audio (no images)"},
		{"tools", asking(text, `,"tools":[{"name":"f"}],"modelPreferences":{"hints":[{"name":"audio"}]}`), "gpt-5", "gpt-audio (no tools)"},
		{"long", asking(`{"type":"text","text":"`+strings.Repeat("x", 4000)+`"}`, `,"modelPreferences":{"hints":[{"name":"audio"}]}`), "gpt-5", "1000 tokens of context"},
		{"images within results", `{"maxTokens":10,"messages":[{"role":"assistant","content":{"type":"tool_use","id":"a","name":"f"}},
			{"role":"user","content":{"type":"tool_result","toolUseId":"a","content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}}],
			"modelPreferences":{"hints":[{"name":"audio"}]}}`, "gpt-5", "gpt-audio (no images)"},
	} {
		got, reason, err := choose(catalogue(), "gpt-5", question(t, tt.params))
		check.Require(t, err == nil, "%s: %v", tt.name, err)
		check.Equal(t, tt.name, got.ID, tt.want)
		check.Contains(t, tt.name, reason, tt.reason)
	}
	nan, p := math.NaN(), question(t, hi)
	p.ModelPreferences = &mcp.ModelPreferences{CostPriority: &nan}
	got, _, err := choose(catalogue(), "gpt-5", p)
	check.That(t, err == nil && got.ID == "gpt-5", "NaN: got %+v, %v, want the default", got, err)
	both := `{"maxTokens":10,"messages":[{"role":"user","content":[{"type":"audio","data":"AAAA","mimeType":"audio/wav"},{"type":"image","data":"AAAA","mimeType":"image/png"}]}]}`
	_, _, err = choose(catalogue(), "gpt-5", question(t, both))
	check.Fails(t, err, "image and sound")
}

// An unknown value of a model never counts in its favour.
func TestModelChoiceWithoutMeasures(t *testing.T) {
	models := []Model{{ID: "unknown"}, {ID: "known", price: &price.Price{Input: 1, Output: 1}, Speed: 1, Intelligence: 1}}
	for _, prefs := range []string{`{"costPriority":1}`, `{"speedPriority":1}`, `{"intelligencePriority":1}`} {
		got, _, err := choose(models, "unknown",
			question(t, `{"maxTokens":1,"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"modelPreferences":`+prefs+`}`))
		check.That(t, err == nil && got.ID == "known", "%s: got %s, %v, want known", prefs, got.ID, err)
	}
}

func TestChosenModelIsAsked(t *testing.T) {
	const cheap = `{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":100,"modelPreferences":{"costPriority":1}}`
	h := newHost(t, answering(plainAnswer))
	var seen, reason string
	var audited record
	s := h.sampler(t, &Options{
		Models: append(catalogue(), Model{ID: "gpt-4.1"}),
		Review: &Review{Request: func(_ context.Context, r *Request) error { seen, reason = r.Model, r.reason; return nil }},
		Audit:  auditTo(t, func(r record) { audited = r }),
	})
	answered(t, s, cheap)
	check.That(t, strings.Contains(h.Last(), `"model":"gpt-5-mini"`) && seen == "gpt-5-mini" && audited.Model == "gpt-5-mini",
		"asked %s, the reviewer saw %s, the record has %s, want gpt-5-mini", h.Last(), seen, audited.Model)
	check.That(t, strings.Contains(reason, "cost 1") && audited.Reason == reason,
		"the reviewer was told %q, the record has %q, want the priority of the cost", reason, audited.Reason)
}

// A request without a number of tokens, or with too many, gets the limit before a model with enough room is chosen. If no
// model has so much room, the reply is shorter.
func TestRoomForTheReply(t *testing.T) {
	small, large := Model{ID: "small", Context: 1000}, Model{ID: "large", Context: 10_000}
	for _, tt := range []struct {
		maxTokens, text string
		models          []Model
		want            string // "": no model can answer
	}{
		{"0", "Hi", []Model{small, large}, `"max_completion_tokens":4096,"messages":[{"role":"user","content":"Hi"}],"model":"large"`},
		{"1000000000", "Hi", []Model{small, large}, `"model":"large"`},
		{"100", "Hi", []Model{small, large}, `"model":"small"`},
		{"0", "Hi", []Model{small}, `"max_completion_tokens":992,`},
		{"5000", "Hi", []Model{small}, `"max_completion_tokens":992,`},
		{"0", strings.Repeat("x", 3200), []Model{small}, ""},
		{"100", strings.Repeat("x", 3200), []Model{small}, `"max_completion_tokens":100,`},
	} {
		h := newHost(t, answering(plainAnswer))
		cfg := openai.DefaultConfig(testKey)
		cfg.HTTPClient = h.Client()
		s := check.Value(New(cfg, "small", &Options{Models: tt.models}))(t)
		params := `{"messages":[{"role":"user","content":{"type":"text","text":"` + tt.text + `"}}],"maxTokens":` + tt.maxTokens + `}`
		if tt.want == "" {
			wantRPC(t, ask(t, s, params), mcp.CodeInternalError, `{"reason":"no_model","retryable":false}`)
			continue
		}
		answered(t, s, params)
		check.Contains(t, tt.maxTokens+" tokens", h.Last(), tt.want)
	}
}

// If neither a model of the catalogue nor the host takes a kind of content, no model is asked, and the
// server does not see the catalogue.
func TestHostCannotTakeIt(t *testing.T) {
	const sound = `{"maxTokens":1,"messages":[{"role":"user","content":{"type":"audio","data":"AAAA","mimeType":"audio/wav"}}]}`
	catalogue := []Model{{ID: "gpt-4.1", Images: true, Audio: true}}
	for _, opts := range []*Options{{Host: "ollama"}, {Host: "ollama", Models: catalogue}, {Models: []Model{{ID: "gpt-4.1"}}}} {
		h := newHost(t, answering(plainAnswer))
		err := ask(t, h.sampler(t, opts), sound)
		wantRPC(t, err, mcp.CodeInternalError, `{"reason":"no_model","retryable":false}`)
		check.That(t, !strings.Contains(err.Error(), "gpt-4.1"), "the server would see the catalogue in %q", err)
		h.wantAsked(t, 0)
	}
	check.That(t, catalogue[0].Audio, "the caller's catalogue was changed")

	// A reviewer can choose another model or add media after the choice.
	h := newHost(t, answering(plainAnswer))
	s := h.sampler(t, &Options{Host: "ollama", Review: &Review{Request: func(_ context.Context, r *Request) error {
		r.Params.Messages[0].Content = question(t, sound).Messages[0].Content
		return nil
	}}})
	wantRPC(t, ask(t, s, hi), mcp.CodeInternalError, `{"reason":"unsupported","retryable":false}`)
	used := s.governor.allServers.charges[0].spent
	check.That(t, h.Asked() == 0 && used.tokens() == 0, "asked the model %d times for %+v, want nothing", h.Asked(), used)
}

func TestReviewersModel(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	choose := func(id string) error {
		s := h.sampler(t, &Options{
			Models: append(catalogue(), Model{ID: "gpt-4.1"}),
			Review: &Review{Request: func(_ context.Context, r *Request) error { r.Model = id; return nil }},
		})
		return ask(t, s, hi)
	}
	err := choose("gpt-5")
	check.That(t, err == nil && strings.Contains(h.Last(), `"model":"gpt-5"`), "got %v, asked %s, want gpt-5 to be asked", err, h.Last())
	wantRPC(t, choose("gpt-9"), mcp.CodeInternalError, `{"reason":"no_model","retryable":false}`)
}

func TestCatalogueErrors(t *testing.T) {
	dollar := map[string]int64{"USD": 1_000_000}
	onlyM := func(currency string, input int64) *price.Table {
		return &price.Table{Date: "2026-11-22", Models: []price.Price{{Model: "m", Currency: currency, Input: input}}}
	}
	for _, tt := range []struct {
		name string
		opts Options
		want string
	}{
		{"no such host", Options{Host: "acme"}, `unknown host "acme"; use one of compatible, openai, azure, ollama, vllm, llamacpp, lmstudio, openrouter, groq, together, gemini, mistral, deepseek, moonshot`},
		{"limits of all", Options{Limits: Limits{Total: Budget{Requests: -1}}}, `Options.Limits.Total is negative; give a positive value, or 0 for the default`},
		{"limits of a server", Options{Limits: Limits{PerServer: Budget{Requests: -1}}}, `Options.Limits.PerServer is negative; give a positive value, or 0 for the default`},
		{"limits of a call", Options{Limits: Limits{PerCall: Budget{Concurrent: -1}}}, `Options.Limits.PerCall is negative; give a positive value, or 0 for the default`},
		{"window", Options{Limits: Limits{Window: -time.Hour}}, `Options.Limits.Window is negative; give a positive value, or 0 for the default`},
		{"default", Options{Models: []Model{{ID: "a"}}}, `model "m" is not in Options.Models: add it there`},
		{"twice", Options{Models: []Model{{ID: "m"}, {ID: "m"}}}, `Options.Models has two models "m"`},
		{"no id", Options{Models: []Model{{}}}, `model of Options.Models has no ID`},
		{"no price", Options{Models: []Model{{ID: "m"}, {ID: "n"}}, Prices: onlyM("USD", 1), Limits: Limits{Total: Budget{Cost: dollar}}}, `the cost cannot be limited: the model "n" has no price in the table of 2026-11-22`},
		{"no catalogue", Options{Limits: Limits{PerCall: Budget{Cost: dollar}}}, `the cost cannot be limited: the model "m" has no price: Options.Prices is nil`},
		{"another currency", Options{Prices: onlyM("EUR", 1), Limits: Limits{PerServer: Budget{Cost: dollar}}}, `the cost cannot be limited: there is no limit in EUR, the currency of the model "m"`},
		{"negative price", Options{Prices: onlyM("USD", -1)}, `Options.Prices: model 0, "m": price is negative`},
		{"mode", Options{Policy: Policy{DuringCalls: 7}}, `Options.Policy has the unknown mode 7`},
		{"date", Options{Prices: &price.Table{Models: []price.Price{{Model: "m", Currency: "USD"}}}}, `Options.Prices: date is "", want a day such as "2026-11-22": prices change`},
		{"limit", Options{Limits: Limits{InputBytes: -1}}, `Options.Limits.InputBytes is negative; give a positive value, or 0 for the default`},
	} {
		_, err := New(openai.DefaultConfig(testKey), "m", &tt.opts)
		check.That(t, err != nil && err.Error() == "new sampler: "+tt.want, "%s: got %v, want %s", tt.name, err, tt.want)
	}
	check.Text(t, check.Err(New(openai.DefaultConfig(testKey), "", nil)), "", "no model: got no error")
}

// TestModelsOfOpenAI samples with tools from each model, with each effort: the host refuses no
// request, and the thoughts that led to calls go back with their results.
func TestModelsOfOpenAI(t *testing.T) {
	weather := &mcp.Tool{Name: "weather", InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}
	asked := 0
	for _, name := range fakehost.OpenAIModels() {
		host := &fakehost.OpenAI{Key: "key-1", Reply: func(r *fakehost.OpenAIRequest) []fakehost.Block {
			switch {
			case !strings.Contains(string(r.Body), `"tools"`), strings.Contains(string(r.Body), "sun and rain"):
				return []fakehost.Block{{Type: "reasoning", Text: "Hm."}, {Type: "text", Text: "Done."}}
			}
			return []fakehost.Block{{Type: "reasoning", Text: "Two cities."},
				{Type: "call", ID: "call_1", Name: "weather", Arguments: `{"city":"Rome"}`}, {Type: "call", ID: "call_2", Name: "weather", Arguments: `{"city":"Oslo"}`}}
		}}
		server := memhttp.New(host)
		defer server.Close()
		cfg := openai.DefaultConfig("key-1")
		cfg.HTTPClient = server.Client()
		for _, effort := range append([]string{""}, fakehost.OpenAIEfforts(name)...) {
			sampler := check.Value(New(cfg, name, &Options{Effort: effort}))(t)
			half := 0.5
			params := &mcp.CreateMessageParams{MaxTokens: 500, Temperature: &half, StopSequences: []string{"END"}, SystemPrompt: "Be brief.",
				Messages: []mcp.SamplingMessage{{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "Weather in Rome and Oslo?"}}}}}
			_, err := sampler.CreateMessage(t.Context(), params)
			check.Require(t, err == nil, "%s, effort %q, without tools: %v %q", name, effort, err, host.Invalid())
			params.Tools = []*mcp.Tool{weather}
			result, err := sampler.CreateMessage(t.Context(), params)
			check.Require(t, err == nil && result.StopReason == "toolUse", "%s, effort %q: got %+v, %v", name, effort, result, err)
			params.Messages = append(params.Messages, mcp.SamplingMessage{Role: "assistant", Content: result.Content}, mcp.SamplingMessage{Role: "user", Content: []mcp.Content{
				&mcp.ToolResultContent{ToolUseID: "call_1", Content: []mcp.Content{&mcp.TextContent{Text: "sun and rain"}}},
				&mcp.ToolResultContent{ToolUseID: "call_2", Content: []mcp.Content{&mcp.TextContent{Text: "rain"}}},
			}})
			result, err = sampler.CreateMessage(t.Context(), params)
			check.Require(t, err == nil && result.StopReason == "endTurn", "%s, effort %q, with results: got %+v, %v", name, effort, result, err)
			asked += 3
		}
		invalid := host.Invalid()
		check.That(t, len(invalid) == 0, "%s: %q", name, invalid)
	}
	t.Logf("%d requests", asked)
}
