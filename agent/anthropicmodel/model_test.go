package anthropicmodel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/prompts"

	"github.com/mcpchain/mcpchain/agent/anthropicmodel"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/internal/testenv/fakehost"
)

// serve serves a handler, and returns a model that asks it.
func serve(t *testing.T, h http.Handler, name string, o anthropicmodel.Options) *anthropicmodel.Model {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	o.BaseURL = server.URL
	return check.Value(anthropicmodel.New("key-1", name, &o))(t)
}

func ask(t *testing.T, m model.Model, r *model.Request) (reply *model.Response, text, reasoning string, err error) {
	t.Helper()
	for d, err := range m.Generate(t.Context(), r) {
		if err != nil {
			return nil, text, reasoning, err
		}
		text, reasoning = text+d.Text, reasoning+d.Reasoning
		if d.Response != nil {
			reply = d.Response
		}
	}
	check.Require(t, reply != nil, "got no reply and no error")
	return reply, text, reasoning, nil
}

func asked(t *testing.T, h http.Handler) (*model.Response, string) {
	t.Helper()
	reply, text, _, err := ask(t, serve(t, h, "claude-opus-4-8", anthropicmodel.Options{}), &model.Request{Messages: hi, Stream: true})
	check.Must(t, err)
	return reply, text
}

// hi is a question, and greets replies to it.
var hi = []run.Message{run.Text(run.RoleUser, "Hi")}

func greets(*fakehost.ClaudeRequest) []fakehost.Block {
	return []fakehost.Block{{Type: "text", Text: "Hello"}}
}

var weather = model.Tool{Name: "weather", Description: "Tells the weather.", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}

func thinkAndCall(*fakehost.ClaudeRequest) []fakehost.Block {
	return []fakehost.Block{
		{Type: "thinking", Text: "Two cities, two calls."},
		{Type: "redacted_thinking", Text: "hidden"},
		{Type: "text", Text: "Let me see."},
		{Type: "tool_use", ID: "toolu_1", Name: "weather", Arguments: `{"city": "Rome"}`},
		{Type: "tool_use", ID: "toolu_2", Name: "weather", Arguments: `{"city":"Oslo"}`},
	}
}

// TestRequests makes requests of all kinds to all models: the host refuses none.
func TestRequests(t *testing.T) {
	histories := map[string][]run.Message{
		"question": {run.Text(run.RoleUser, "Hi"), run.Text(run.RoleUser, " ")},
		"system":   {run.Text(run.RoleSystem, "Be brief."), run.Text(run.RoleUser, "Hi"), run.Text(run.RoleSystem, "Today is Monday.")},
		"calls of another host": {
			run.Text(run.RoleUser, "Weather?"),
			{Role: run.RoleAssistant, Parts: []run.Part{
				{Type: run.PartReasoning, Text: "of another model"},
				{Type: run.PartCall, ID: "functions.weather:0", Name: "weather", Arguments: `[1]`},
				{Type: run.PartCall, ID: "b", Name: "weather"},
				{Type: run.PartCall, ID: "c", Name: "functions.weather"},
				{Type: run.PartCall, ID: "d"},
			}},
			{Role: run.RoleTool, Parts: []run.Part{{Type: run.PartResult, ID: "functions.weather:0", Text: " "}}},
			{Role: run.RoleTool, Parts: []run.Part{{Type: run.PartResult, ID: "b", Text: "sun", Media: []run.Part{{Type: run.PartImage, MIMEType: "image/png", Data: []byte("png")}, {Type: run.PartAudio, MIMEType: "audio/wav", Data: []byte("wav")}}}}},
			{Role: run.RoleTool, Parts: []run.Part{{Type: run.PartResult, ID: "c", Text: "Error: no", IsError: true, Media: []run.Part{{Type: run.PartImage, MIMEType: "image/png", Data: []byte("png")}}}}},
			{Role: run.RoleTool, Parts: []run.Part{{Type: run.PartResult, ID: "d", IsError: true}}},
			run.Text(run.RoleUser, "And now?"),
		},
		"starts and ends with the assistant": {run.Text(run.RoleAssistant, "Hello."), run.Text(run.RoleUser, "Hi"), run.Text(run.RoleAssistant, "Yes?")},
		"files": {{Role: run.RoleUser, Parts: []run.Part{
			{Type: run.PartImage, MIMEType: "image/jpg", Data: []byte("jpeg")}, {Type: run.PartFile, MIMEType: "application/pdf", Data: []byte("pdf")},
			{Type: run.PartFile, MIMEType: "text/csv; charset=utf-8", Data: []byte("a,b\n")}, {Type: run.PartImage, MIMEType: "image/png", URL: "https://example.com/a.png"},
		}}},
	}
	half, n := 0.5, 0
	for _, name := range fakehost.ClaudeModels() {
		h := &fakehost.Claude{Key: "key-1", Reply: greets}
		m := serve(t, h, name, anthropicmodel.Options{})
		for title, history := range histories {
			for _, effort := range []string{"", "none", "minimal", "low", "medium", "high", "xhigh", "max"} {
				for _, tools := range [][]model.Tool{nil, {weather, {Name: "now"}}} {
					for _, choice := range []model.Choice{model.ChoiceAuto, model.ChoiceNone, model.ChoiceRequired, model.ChoiceTool} {
						for _, full := range []bool{false, true} {
							if n++; n%testenv.Step(5) != 0 {
								continue
							}
							r := &model.Request{Messages: history, Effort: effort, Tools: tools, ToolChoice: choice, ToolName: "weather"}
							if full {
								r.System, r.Stream, r.Temperature, r.Stop = "Be kind.", true, &half, []string{"END", "\n"}
								r.Format = json.RawMessage(`{"type":"object"}`)
							}
							_, _, _, err := ask(t, m, r)
							check.Require(t, err == nil, "%s, %s, effort %q, %d tools, choice %v, full %t: %v", name, title, effort, len(tools), choice, full, err)
						}
					}
				}
			}
		}
		check.That(t, len(h.Invalid()) == 0, "%s: %q", name, h.Invalid())
	}
	t.Logf("%d requests", n/testenv.Step(5))
}

// TestEffort has models that do not all accept a request for no thoughts. Info has the bound of a reply, which agents reserve.
func TestEffort(t *testing.T) {
	for name, want := range map[string]string{"claude-opus-5-5": "adaptive", "claude-sonnet-5-5": "between_tools", "claude-haiku-5-5": "disabled"} {
		for effort, bound := range map[string]int{"none": 32_000, "max": 64_000} {
			h := &fakehost.Claude{Key: "key-1", Reply: greets}
			m := serve(t, h, name, anthropicmodel.Options{Effort: effort})
			_, _, _, err := ask(t, m, &model.Request{Messages: hi})
			check.Must(t, err)
			check.Same(t, name, []any{h.Requests()[0].MaxTokens, m.Info().MaxTokens, m.Info().Window}, []any{bound, bound, int64(1_000_000)})
			check.That(t, effort == "max" || h.Requests()[0].Thinking["type"] == want, "%s: got %v, want %s", name, h.Requests()[0].Thinking, want)
		}
	}
	h := &fakehost.Claude{Key: "key-1", Reply: greets}
	_, _, _, err := ask(t, serve(t, h, "claude-haiku-4-5", anthropicmodel.Options{}), &model.Request{Messages: hi, Effort: "max", MaxTokens: 32_000})
	check.That(t, err == nil && h.Requests()[0].Thinking["budget_tokens"] == 27_904.0, "got %v, %v, want more for max than for xhigh", h.Requests(), err)
}

// TestLeftOut warns of what the API does not accept.
func TestLeftOut(t *testing.T) {
	half := 0.5
	for want, r := range map[string]*model.Request{
		"": {Stop: []string{"END"}},
		"the API accepts no stop sequences of white space: they are left out; the model claude-opus-4-8 accepts no temperature: it is left out": {Stop: []string{"\n"}, Temperature: &half},
		"MaxTokens is 1500, and thoughts take at least 1024 tokens of it: the model does not think":                                             {Effort: "high", MaxTokens: 1500},
		"the model claude-haiku-4-5 accepts no temperature while it thinks: it is left out":                                                     {Effort: "high", Temperature: &half},
	} {
		name := map[bool]string{true: "claude-haiku-4-5", false: "claude-opus-4-8"}[r.Effort != ""]
		r.Messages = hi
		reply, _, _, err := ask(t, serve(t, &fakehost.Claude{Key: "key-1", Reply: greets}, name, anthropicmodel.Options{}), r)
		check.Must(t, err)
		check.Equal(t, "the warning", reply.Warning, want)
	}
}

// TestThoughtsGoBack holds that thoughts come with the reply, and go back byte for byte with results of all kinds.
func TestThoughtsGoBack(t *testing.T) {
	h := &fakehost.Claude{Key: "key-1", Reply: thinkAndCall}
	m := serve(t, h, "claude-opus-4-8", anthropicmodel.Options{Effort: "high"})
	history := []run.Message{run.Text(run.RoleUser, "Weather in Rome and Oslo?")}
	reply, text, reasoning, err := ask(t, m, &model.Request{Messages: history, Tools: []model.Tool{weather}, Stream: true})
	check.Must(t, err)
	check.That(t, text == "Let me see." && reasoning == "Two cities, two calls.", "got deltas %q and %q", text, reasoning)
	var types []string
	for _, p := range reply.Message.Parts {
		types = append(types, string(p.Type))
	}
	check.Same(t, "parts", types, []string{"reasoning", "reasoning", "text", "call", "call"})
	check.That(t, reply.Finish == model.FinishCalls && reply.Message.Model == "claude-opus-4-8" && reply.Usage.Input != 0 && reply.Usage.Output != 0,
		"got %+v", reply)
	stored, err := json.Marshal(reply.Message) // as another process reads it
	check.Must(t, err)
	var read run.Message
	check.Must(t, json.Unmarshal(stored, &read))
	history = append(history, read,
		run.Message{Role: run.RoleTool, Parts: []run.Part{{Type: run.PartResult, ID: "toolu_1", Text: "sun", Media: []run.Part{{Type: run.PartImage, MIMEType: "image/png", Data: []byte("png")}}}}},
		run.Message{Role: run.RoleTool, Parts: []run.Part{{Type: run.PartResult, ID: "toolu_2", Text: "no such city", IsError: true}}})
	_, _, _, err = ask(t, m, &model.Request{Messages: history, Tools: []model.Tool{weather}})
	check.Must(t, err)
	second := h.Requests()[1]
	var got []string
	for _, c := range second.Messages[1].Content {
		got = append(got, c.Type+" "+c.Thinking+c.Text+c.ID+string(c.Raw["input"]))
	}
	want := []string{"thinking Two cities, two calls.", "redacted_thinking ", "text Let me see.", `tool_use toolu_1{"city":"Rome"}`, `tool_use toolu_2{"city":"Oslo"}`}
	check.Same(t, "the reply went back", got, want)
	results := second.Messages[2].Content
	check.That(t, len(results) == 2 && len(results[0].Content) == 2 && results[0].Content[1].Type == "image" && results[1].IsError,
		"got results %+v", results)
}

// TestCacheOfPrompts compares what 20 turns cost with what they cost without marks.
func TestCacheOfPrompts(t *testing.T) {
	cost := func(cache string) (price float64) {
		turn := 0
		h := &fakehost.Claude{Key: "key-1", Reply: func(*fakehost.ClaudeRequest) []fakehost.Block {
			turn++
			return []fakehost.Block{{Type: "tool_use", ID: fmt.Sprintf("toolu_%d", turn), Name: "weather", Arguments: `{"city":"Rome"}`}}
		}}
		m := serve(t, h, "claude-opus-4-8", anthropicmodel.Options{Cache: cache})
		tools := []model.Tool{weather}
		for i := range 20 {
			tools = append(tools, model.Tool{Name: fmt.Sprintf("tool_%d", i), Description: strings.Repeat("What it does. ", 30), Schema: weather.Schema})
		}
		history := []run.Message{run.Text(run.RoleUser, "Weather?")}
		for range 20 {
			reply, _, _, err := ask(t, m, &model.Request{System: strings.Repeat("Be brief. ", 100), Messages: history, Tools: tools})
			check.Must(t, err)
			result := run.Part{Type: run.PartResult, ID: reply.Message.Parts[0].ID, Text: strings.Repeat("sun ", 200)}
			history = append(history, reply.Message, run.Message{Role: run.RoleTool, Parts: []run.Part{result}})
		}
		for _, r := range h.Requests() {
			price += r.Usage.Price()
		}
		return price
	}
	with, without := cost(""), cost("none")
	t.Logf("the input costs %.0f tokens, %.0f without marks: %.2f", with, without, with/without)
	check.That(t, with/without <= 0.25, "want at most 0.25")
}

// TestThoughtsOfAnotherKey holds that a conversation continues without thoughts whose signature the host refuses.
func TestThoughtsOfAnotherKey(t *testing.T) {
	h := &fakehost.Claude{Key: "key-1", Reply: thinkAndCall}
	m := serve(t, h, "claude-opus-5", anthropicmodel.Options{})
	message := run.Message{Role: run.RoleAssistant, Parts: []run.Part{
		{Type: run.PartReasoning, Text: "old", Provider: map[string]json.RawMessage{"signature": json.RawMessage(`"forged"`)}},
		{Type: run.PartText, Text: "Hello."},
	}}
	history := []run.Message{run.Text(run.RoleUser, "Hi"), message, run.Text(run.RoleUser, "Weather?")}
	kept := new(any)
	reply, _, _, err := ask(t, m, &model.Request{Messages: history, Tools: []model.Tool{weather}, Temperature: new(0.5), Scratch: kept})
	check.Require(t, err == nil && strings.Contains(reply.Warning, "refused the model's earlier thoughts") && strings.Contains(reply.Warning, "no temperature"),
		"got warning %q, error %v", reply.Warning, err)
	check.That(t, len(history[1].Parts) == 2 && len(h.Requests()) == 1 && len(h.Invalid()) == 1,
		"the history was changed, or %d requests were valid and %d not, want 1 each", len(h.Requests()), len(h.Invalid()))
	// The conversation remembers what was refused, and its new thoughts go back.
	history = append(history, reply.Message, run.Message{Role: run.RoleTool, Parts: []run.Part{{Type: run.PartResult, ID: "toolu_1", Name: weather.Name, Text: "sun"}, {Type: run.PartResult, ID: "toolu_2", Name: weather.Name, Text: "rain"}}})
	reply, _, _, err = ask(t, m, &model.Request{Messages: history, Tools: []model.Tool{weather}, Scratch: kept})
	check.Require(t, err == nil && reply.Warning == "" && len(h.Invalid()) == 1, "got %+v, %v after %q", reply, err, h.Invalid())
	thoughts := 0
	for _, m := range h.Requests()[1].Messages {
		for _, c := range m.Content {
			if strings.HasSuffix(c.Type, "thinking") {
				thoughts++
			}
		}
	}
	check.Equal(t, "thoughts that went back", thoughts, 2)
}

// TestFailures has the kinds of failures, and what of them is repeated.
func TestFailures(t *testing.T) {
	const first = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"content\":[]}}\n\n"
	for name, test := range map[string]struct {
		status int
		body   string
		kind   model.ErrorKind
		asked  int
	}{
		"overloaded":      {529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.ErrorRateLimit, 2},
		"rate":            {429, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`, model.ErrorRateLimit, 2},
		"key":             {401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, model.ErrorAuth, 1},
		"credit":          {400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`, model.ErrorAuth, 1},
		"model":           {404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}`, model.ErrorNotFound, 1},
		"too long":        {400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, model.ErrorTooLong, 1},
		"invalid":         {400, `{"type":"error","error":{"type":"invalid_request_error","message":"tools.0: no"}}`, model.ErrorInvalid, 1},
		"within a stream": {200, first + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", model.ErrorRateLimit, 1},
		"too late":        {504, `{"type":"error","error":{"type":"timeout_error","message":"Request timed out"}}`, model.ErrorUnavailable, 2},
		"late, streamed":  {200, first + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"timeout_error\",\"message\":\"Request timed out\"}}\n\n", model.ErrorUnavailable, 1},
		"of a gateway":    {200, `{"error":{"message":"no channel","code":503}}`, model.ErrorUnavailable, 2},
		"in its stream":   {200, "event: error\ndata: {\"error\":{\"message\":\"no such key\",\"code\":401}}\n\n", model.ErrorAuth, 1},
		"cut off":         {200, first, model.ErrorUnavailable, 1},
		"cut off, [DONE]": {200, first + "data: [DONE]\n\n", model.ErrorUnavailable, 1},
		"not the API":     {200, `{"choices":[]}`, 0, 1},
		"wrong order":     {200, first + "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":7,\"delta\":{}}\n\n", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			m := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked++
				w.Header().Set("Retry-After-Ms", "1")
				if test.status == 200 && strings.HasPrefix(test.body, "event") {
					w.Header().Set("Content-Type", "text/event-stream")
				}
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.body)
			}), "claude-opus-4-8", anthropicmodel.Options{Retries: 1})
			_, _, _, err := ask(t, m, &model.Request{Messages: []run.Message{run.Text(run.RoleUser, "Hi")}})
			failure, ok := errors.AsType[*model.Error](err)
			check.Require(t, ok && failure.Kind == test.kind && asked == test.asked && failure.Retried == (test.asked > 1),
				"got %d requests and %+v: %v", asked, failure, err)
			check.That(t, test.kind != model.ErrorTooLong || failure.Window == 200_000 && failure.Prompt == 210_000,
				"got window %d, prompt %d", failure.Window, failure.Prompt)
			check.That(t, !strings.Contains(err.Error(), "key-1"), "the error has the key: %v", err)
		})
	}
}

// TestEndsOfReplies has the reasons for which a reply ends.
func TestEndsOfReplies(t *testing.T) {
	before := fakehost.Block{Type: "tool_use", ID: "toolu_1", Name: "weather"} // cut off before its arguments
	within := fakehost.Block{Type: "tool_use", ID: "toolu_1", Name: "weather", Arguments: `{"city":"Ro`}
	for stop, want := range map[string]struct {
		finish string
		parts  int
	}{"max_tokens": {model.FinishLength, 1}, "model_context_window_exceeded": {model.FinishLength, 1}, "refusal": {model.FinishRefusal, 1}, "stop_sequence": {model.FinishStop, 2}, "later_word": {"later_word", 2}} {
		for _, call := range []fakehost.Block{before, within} {
			reply, _ := asked(t, &fakehost.Claude{Key: "key-1", Stop: stop, Reply: func(*fakehost.ClaudeRequest) []fakehost.Block {
				return []fakehost.Block{{Type: "text", Text: "Well"}, call}
			}})
			check.That(t, reply.Finish == want.finish && len(reply.Message.Parts) == want.parts,
				"%s, call with the arguments %q: got %+v", stop, call.Arguments, reply)
		}
	}
}

// TestRefusals tells why the provider withholds a reply, or the rest of one.
func TestRefusals(t *testing.T) {
	const start = `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Well"}}`
	const refused = "the provider refuses to answer: cyber: It could enable harm."
	end := func(details string) string {
		return `data: {"type":"message_delta","delta":{"stop_reason":"refusal"` + details + `}}` + "\n\n" + `data: {"type":"message_stop"}`
	}
	why := end(`,"stop_details":{"type":"refusal","category":"cyber","explanation":"It could enable harm."}`)
	reply, _ := asked(t, fakehost.Streaming(start, why))
	check.Same(t, "the rest", []string{reply.Message.Text(), reply.Warning}, []string{"Well", refused})
	for stream, want := range map[string]string{why: refused, end(`,"stop_details":null`): "the provider refuses to answer"} {
		m := serve(t, fakehost.Streaming(stream), "claude-opus-5-5", anthropicmodel.Options{})
		reply, _, _, err := ask(t, m, &model.Request{Messages: hi})
		check.That(t, err == nil && reply.Finish == model.FinishRefusal && reply.Warning == want, "got %+v, %v, want %s", reply, err, want)
		_, err = m.Call(t.Context(), "Hi")
		check.That(t, llms.IsContentFilterError(err) && strings.Contains(err.Error(), want), "got %v, want %s", err, want)
	}
}

// TestWholeAnswer reads the answer of a gateway that does not stream, with a block of a later type.
func TestWholeAnswer(t *testing.T) {
	reply, text := asked(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"type":"message","id":"m","model":"claude-x","stop_reason":"tool_use","content":[{"type":"later","x":[1],"text":"42"},{"type":"text","text":"Hi"},{"type":"tool_use","id":"","name":"now","input":{"a":1}}],"usage":{"input_tokens":3,"cache_read_input_tokens":4,"output_tokens":5,"output_tokens_details":{"thinking_tokens":2}}}`)
	}))
	want := &model.Response{
		Message: run.Message{Role: run.RoleAssistant, Model: "claude-x", Parts: []run.Part{
			{Type: run.PartReasoning, Provider: map[string]json.RawMessage{"block": json.RawMessage(`{"type":"later","x":[1],"text":"42"}`)}},
			{Type: run.PartText, Text: "Hi"},
			{Type: run.PartCall, Name: "now", Arguments: `{"a":1}`},
		}},
		ID: "m", Finish: model.FinishCalls, Usage: run.Usage{Input: 7, Cached: 4, Output: 5, Reasoning: 2, Total: 12},
	}
	check.Equal(t, "text", text, "Hi")
	check.Same(t, "reply", reply, want, cmpopts.IgnoreFields(run.Message{}, "At"))
}

// TestCountsOfAStream keeps the counts of the first event that a later event leaves out.
func TestCountsOfAStream(t *testing.T) {
	reply, _ := asked(t, fakehost.Streaming(
		`data: {"type":"message_start","message":{"type":"message","id":"m","content":[],"usage":{"input_tokens":3,"cache_read_input_tokens":40,"cache_creation_input_tokens":50,"output_tokens":1}}}`,
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi"}}`,
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":4,"output_tokens":5}}`,
		`data: {"type":"message_stop"}`))
	check.Same(t, "", reply.Usage, run.Usage{Input: 94, Cached: 40, CacheWrite: 50, Output: 5, Total: 99})
}

// TestPiecesOfAnotherKind does not show a thought as text that comes in a block of text, nor hides text in a thought.
func TestPiecesOfAnotherKind(t *testing.T) {
	reply, text := asked(t, fakehost.Streaming(
		`data: {"type":"message_start","message":{"type":"message","id":"m","content":[]}}`,
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi","thinking":"Hm"}}`,
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":" hm"}}`,
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" there"}}`,
		`data: {"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":"Well"}}`,
		`data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":" then"}}`,
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}`,
		`data: {"type":"message_stop"}`))
	check.Equal(t, "text that was shown", text, "Hi there")
	check.That(t, len(reply.Message.Parts) == 2 && reply.Message.Text() == "Hi there" && reply.Message.Parts[1].Text == "Well", "got %+v", reply.Message.Parts)
}

// TestNoLastEvent holds that a reply with its reason to stop is complete: some gateways omit the event after it.
func TestNoLastEvent(t *testing.T) {
	reply, text := asked(t, fakehost.Streaming(
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hello"}}`,
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`))
	check.That(t, text == "Hello" && reply.Finish == model.FinishStop, "got %q and %+v", text, reply)
}

// The reason for the end of a reply stays if a later event only counts: a call that was cut off must not run.
func TestReasonBeforeLaterEvents(t *testing.T) {
	reply, _ := asked(t, fakehost.Streaming(
		`data: {"type":"message_start","message":{"type":"message","id":"m","content":[]}}`,
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"1","name":"pay","input":{}}}`,
		`data: {"type":"message_delta","delta":{"stop_reason":"max_tokens"}}`,
		`data: {"type":"message_delta","delta":{},"usage":{"output_tokens":5}}`,
		`data: {"type":"message_stop"}`))
	check.That(t, reply.Finish == model.FinishLength && len(reply.Message.Parts) == 0,
		"got the end %q of %+v, want %q and no call", reply.Finish, reply.Message.Parts, model.FinishLength)
}

// TestCountsThatCannotBeTrue takes a count of too few tokens for a text as missing.
func TestCountsThatCannotBeTrue(t *testing.T) {
	long := strings.Repeat("word ", 1000)
	m := serve(t, fakehost.Streaming(
		`data: {"type":"message_start","message":{"type":"message","id":"m","content":[],"usage":{"input_tokens":1,"cache_read_input_tokens":1,"output_tokens":1}}}`,
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"`+long+`"}}`,
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`,
		`data: {"type":"message_stop"}`), "claude-opus-4-8", anthropicmodel.Options{})
	for text, want := range map[string]run.Usage{"Hi": {Input: 2, Cached: 1, Total: 2}, long: {}} {
		reply, _, _, err := ask(t, m, &model.Request{Messages: []run.Message{run.Text(run.RoleUser, text)}})
		check.Must(t, err)
		check.Same(t, len(text), reply.Usage, want)
	}
}

// TestBeginningOfAnInput has the inputs with which gateways begin a call whose input comes in pieces.
func TestBeginningOfAnInput(t *testing.T) {
	for _, beginning := range []string{`{}`, `{ }`, `null`, `""`, `{"city":"Rome"}`} {
		for _, tt := range []struct{ piece, stop, want string }{
			{`{"city":"Oslo"}`, "tool_use", `{"city":"Oslo"}`}, {`{"city":"Oslo"}`, "max_tokens", `{"city":"Oslo"}`},
			{`{"city":"Os`, "max_tokens", ``}, {``, "tool_use", `{}`}, {``, "max_tokens", ``},
		} {
			if tt.piece == "" && strings.Contains(beginning, "Rome") {
				tt.want = beginning
			}
			reply, _ := asked(t, fakehost.Streaming(
				`data: {"type":"message_start","message":{"type":"message","id":"m","content":[]}}`,
				`data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"1","name":"weather","input":`+beginning+`}}`,
				fmt.Sprintf(`data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":%q}}`, tt.piece),
				`data: {"type":"message_delta","delta":{"stop_reason":"`+tt.stop+`"}}`,
				`data: {"type":"message_stop"}`))
			got := ""
			for _, p := range reply.Message.Parts {
				got += p.Arguments
			}
			check.Same(t, fmt.Sprintf("%s, then %q, %s", beginning, tt.piece, tt.stop), got, tt.want)
		}
	}
}

// TestInputOfAnotherTool keeps the input of a tool of the host, which comes in pieces as that of a call.
func TestInputOfAnotherTool(t *testing.T) {
	reply, text := asked(t, fakehost.Streaming(
		`data: {"type":"message_start","message":{"type":"message","id":"m","content":[]}}`,
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","text":"Searching","input":{}}}`,
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" the web"}}`,
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":"}}`,
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\"Oslo\"}"}}`,
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}`,
		`data: {"type":"message_stop"}`))
	check.Same(t, "text", text, "")
	fakehost.EqualJSON(t, string(reply.Message.Parts[0].Provider["block"]), `{"type":"server_tool_use","id":"s","name":"web_search","text":"Searching","input":{"query":"Oslo"}}`)
}

// TestQueryOfTheBaseURL sends the query of the base URL to the host, behind the path.
func TestQueryOfTheBaseURL(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"type":"message","content":[{"type":"text","text":"%s"}]}`, r.URL.RequestURI())
	}))
	defer server.Close()
	for base, want := range map[string]string{
		"/v1/?key=hunter2%2B&x=1#top": "/v1/messages?key=hunter2%2B&x=1",
		"?key=hunter2":                "/v1/messages?key=hunter2",
	} {
		m := check.Value(anthropicmodel.New("key-1", "claude-opus-4-8", &anthropicmodel.Options{BaseURL: server.URL + base}))(t)
		reply, _, _, err := ask(t, m, &model.Request{Messages: []run.Message{run.Text(run.RoleUser, "Hi")}})
		check.Must(t, err)
		check.Equal(t, base, reply.Message.Text(), want)
	}
}

// TestNames finds the rule for a model by the names that hosts and gateways give it.
func TestNames(t *testing.T) {
	for name, want := range map[string]int64{
		"claude-opus-4-8": 1_000_000, "eu.anthropic.claude-opus-4-8-v1:0": 1_000_000, "anthropic/claude-opus-4.8": 1_000_000, "anthropic/claude-sonnet-4.5": 200_000,
	} {
		check.Equal(t, name, check.Value(anthropicmodel.New("key-1", name, nil))(t).Info().Window, want)
	}
}

// TestBadInput has the mistakes of callers.
func TestBadInput(t *testing.T) {
	for want, o := range map[string]anthropicmodel.Options{
		"Cache is": {Cache: "1d"}, "Effort is": {Effort: "huge"}, "MaxTokens is -1": {MaxTokens: -1}, "BaseURL is not": {BaseURL: "api.anthropic.com"}, "BaseURL is not an": {BaseURL: "https://x?key=k\n"},
	} {
		check.Text(t, check.Err(anthropicmodel.New("key-1", "claude-opus-4-8", &o)), want)
	}
	check.Text(t, check.Err(anthropicmodel.New("", "claude-opus-4-8", nil)), "key is empty")
	for want, r := range map[string]*model.Request{
		`effort "huge" is unknown`:                       {Messages: hi, Effort: "huge"},
		`tool "x": the schema is not a JSON object`:      {Messages: hi, Tools: []model.Tool{{Name: "x", Schema: json.RawMessage(`[]`)}}},
		`message 0: part 0: content of type "audio/wav"`: {Messages: []run.Message{{Role: run.RoleUser, Parts: []run.Part{{Type: run.PartAudio, MIMEType: "audio/wav", Data: []byte("wav")}}}}},
	} {
		_, _, _, err := ask(t, serve(t, http.NotFoundHandler(), "claude-sonnet-4-5", anthropicmodel.Options{}), r)
		failure, ok := errors.AsType[*model.Error](err)
		check.That(t, ok && failure.Kind == model.ErrorInvalid && strings.Contains(err.Error(), want), "got %v, want %q", err, want)
	}
}

func TestFromEnv(t *testing.T) {
	for _, tt := range []struct{ name, key, want string }{{"", "k", "ANTHROPIC_MODEL"}, {"claude-opus-5", "", "ANTHROPIC_API_KEY"}} {
		t.Setenv("ANTHROPIC_MODEL", tt.name)
		t.Setenv("ANTHROPIC_API_KEY", tt.key)
		check.Text(t, check.Err(anthropicmodel.FromEnv()), tt.want)
	}
	t.Setenv("ANTHROPIC_API_KEY", "k")
	check.Equal(t, "name", check.Value(anthropicmodel.FromEnv())(t).Info().Name, "claude-opus-5")
}

// TestStop ends a request of a caller that stops, and of a context that ends.
func TestStop(t *testing.T) {
	m := serve(t, &fakehost.Claude{Key: "key-1", Reply: thinkAndCall}, "claude-opus-4-8", anthropicmodel.Options{})
	r := &model.Request{Messages: hi, Stream: true}
	var first model.Delta
	var err error
	for first, err = range m.Generate(t.Context(), r) {
		break
	}
	check.That(t, err == nil && first.Reasoning != "", "got %+v, %v", first, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err = range m.Generate(ctx, r) {
	}
	check.Is(t, err, context.Canceled)
}

// TestBombs holds that a reply costs memory in proportion to its bytes.
func TestBombs(t *testing.T) {
	deep := strings.Repeat("[", 1<<20)
	many := `{"type":"message","content":[` + strings.Repeat("{},", 1<<20) + `{}]}`
	calls := `{"type":"message","content":[` + strings.Repeat(`{"type":"tool_use","name":"f"},`, 256) + `{"type":"tool_use","name":"f"}]}`
	for name, body := range map[string]string{
		"depth": `{"type":"message","content":` + deep, "elements": many, "calls": calls,
		"name": `{"type":"message","content":[{"type":"tool_use","name":"` + strings.Repeat("x", 1<<20) + `"}]}`,
	} {
		m := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }), "claude-opus-4-8", anthropicmodel.Options{})
		_, _, _, err := ask(t, m, &model.Request{Messages: []run.Message{run.Text(run.RoleUser, "Hi")}})
		check.That(t, err != nil && len(err.Error()) <= 4<<10 && strings.HasPrefix(err.Error(), "messages at "), "%s: got %.200v", name, err)
	}
}

// TestLangchaingo uses the model in langchaingo's own ways: with tools, and in a chain.
func TestLangchaingo(t *testing.T) {
	h := &fakehost.Claude{Key: "key-1", Reply: func(r *fakehost.ClaudeRequest) []fakehost.Block {
		if len(r.Messages) == 1 && len(r.Tools) > 0 {
			return thinkAndCall(r)
		}
		return []fakehost.Block{{Type: "text", Text: "It is sunny."}}
	}}
	var m llms.Model = serve(t, h, "claude-opus-5", anthropicmodel.Options{})
	messages := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeSystem, "Be brief."), llms.TextParts(llms.ChatMessageTypeHuman, "Weather?")}
	tools := llms.WithTools([]llms.Tool{{Type: "function", Function: &llms.FunctionDefinition{Name: "weather", Parameters: map[string]any{"type": "object"}}}})
	streamed := ""
	got, err := m.GenerateContent(t.Context(), messages, tools, llms.WithTemperature(0), llms.WithStreamingFunc(func(_ context.Context, piece []byte) error {
		streamed += string(piece)
		return nil
	}))
	check.Must(t, err)
	choice := got.Choices[0]
	check.That(t, choice.Content == "Let me see." && streamed == choice.Content && len(choice.ToolCalls) == 2 && choice.ReasoningContent == "Two cities, two calls." && choice.GenerationInfo["PromptTokens"] != 0,
		"got %+v, streamed %q", choice, streamed)
	answer := llms.MessageContent{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{llms.TextContent{Text: choice.Content}}}
	results := llms.MessageContent{Role: llms.ChatMessageTypeTool}
	for _, call := range choice.ToolCalls {
		answer.Parts = append(answer.Parts, call)
		results.Parts = append(results.Parts, llms.ToolCallResponse{ToolCallID: call.ID, Name: "weather", Content: "sun"})
	}
	got, err = m.GenerateContent(t.Context(), append(messages, answer, results), tools)
	check.That(t, err == nil && got.Choices[0].Content == "It is sunny.", "got %+v, %v", got, err)
	chain := chains.NewLLMChain(m, prompts.NewPromptTemplate("Weather in {{.city}}?", []string{"city"}))
	check.Equal(t, "chain", check.Value(chains.Predict(t.Context(), chain, map[string]any{"city": "Rome"}))(t), "It is sunny.")
	check.That(t, len(h.Invalid()) == 0, "refused: %q", h.Invalid())
	stop := errors.New("enough")
	check.Is(t, check.Err(m.GenerateContent(t.Context(), messages, llms.WithStreamingFunc(func(context.Context, []byte) error { return stop }))), stop)
}

func TestErrorsOfLangchaingo(t *testing.T) {
	m := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(529) }), "claude-opus-5", anthropicmodel.Options{Retries: -1})
	_, err := m.GenerateContent(t.Context(), []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "Hi")})
	check.That(t, llms.IsRateLimitError(err), "got %v, want a limit of the rate", err)
}

// A key of the options is sent. The empty one, for which net/http repeats a request, is not.
func TestIdempotencyKey(t *testing.T) {
	for _, want := range [][]string{nil, {"key-2"}} {
		got := []string{"no request"}
		m := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = r.Header.Values("Idempotency-Key")
			w.WriteHeader(http.StatusUnauthorized)
		}), "claude-opus-5", anthropicmodel.Options{Header: http.Header{"idempotency-key": want}})
		_, _, _, err := ask(t, m, &model.Request{Messages: hi})
		check.Fails(t, err)
		check.Same(t, "header", got, want)
	}
}
