package openaimodel

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sashabaranov/go-openai"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/fakehost"
)

const testKey = "sk-test-0123456789abcdef"

// newModel makes a model with the host h; sent returns the latest request.
func newModel(t testing.TB, h http.HandlerFunc, opts *Options) (m *Model, sent func() string) {
	t.Helper()
	s := fakehost.Prepare(t, h)
	cfg := openai.DefaultConfig(testKey)
	cfg.HTTPClient = s.Client()
	m = check.Value(New(cfg, "gpt-4.1", opts))(t)
	return m, s.Last
}

const plainAnswer = `{"model":"gpt-4.1-2025-04-14","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},` +
	`"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`

func human(text string) []llms.MessageContent {
	return []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, text)}
}

var answering = fakehost.Answering
var equalJSON = fakehost.EqualJSON

func TestGenerateContent(t *testing.T) {
	m, sent := newModel(t, answering(plainAnswer), nil)
	got := check.Value(m.GenerateContent(t.Context(), human("Hi")))(t)
	want := &llms.ContentResponse{Choices: []*llms.ContentChoice{{
		Content: "Hello", StopReason: "stop",
		GenerationInfo: map[string]any{
			"Model": "gpt-4.1-2025-04-14", "PromptTokens": 3, "CompletionTokens": 2, "TotalTokens": 5,
			"ReasoningTokens": 0, "PromptCachedTokens": 0, "CacheCreationInputTokens": 0,
		},
	}}}
	check.Same(t, "response", got, want)
	equalJSON(t, sent(), `{"model":"gpt-4.1","messages":[{"role":"user","content":"Hi"}],"stream":false}`)
}

func TestStreaming(t *testing.T) {
	m, sent := newModel(t, fakehost.Streaming(
		`data: {"model":"m","choices":[{"index":0,"delta":{"reasoning_content":"Hm."}}]}`,
		`data: {"choices":[{"index":0,"delta":{"content":"One "}}]}`,
		`data: {"choices":[{"index":0,"delta":{"content":"moment."}}]}`,
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}},{"index":1,"id":"b","type":"function","function":{"name":"f","arguments":""}}]}}]}`,
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"type":"function","function":{"arguments":"{\"x\":2}"}}]}}]}`,
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"type":"function","function":{"arguments":"{\"x\":1}"}}]}}]}`,
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
		`data: [DONE]`,
	), nil)
	var text, reasoning []string
	got := check.Value(m.GenerateContent(t.Context(), human("Hi"),
		llms.WithStreamingFunc(func(_ context.Context, chunk []byte) error { text = append(text, string(chunk)); return nil }),
		llms.WithStreamingReasoningFunc(func(_ context.Context, r, _ []byte) error {
			if len(r) > 0 {
				reasoning = append(reasoning, string(r))
			}
			return nil
		})))(t)
	call := func(id, args string) llms.ToolCall {
		return llms.ToolCall{ID: id, Type: "function", FunctionCall: &llms.FunctionCall{Name: "f", Arguments: args}}
	}
	want := []*llms.ContentChoice{{
		Content: "One moment.", StopReason: "tool_calls", ReasoningContent: "Hm.",
		ToolCalls:      []llms.ToolCall{call("a", `{"x":1}`), call("b", `{"x":2}`)},
		FuncCall:       &llms.FunctionCall{Name: "f", Arguments: `{"x":1}`},
		GenerationInfo: map[string]any{"Model": "m"},
	}}
	check.Same(t, "choices", got.Choices, want)
	check.Same(t, "text chunks", text, []string{"One ", "moment."})
	check.Same(t, "reasoning chunks", reasoning, []string{"Hm."})
	equalJSON(t, sent(), `{"model":"gpt-4.1","messages":[{"role":"user","content":"Hi"}],"stream":true,"stream_options":{"include_usage":true}}`)
}

func TestRequest(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}}}`)
	tool := llms.Tool{Type: "function", Function: &llms.FunctionDefinition{Name: "f", Description: "F", Parameters: schema}}
	const wireTool = `{"type":"function","function":{"name":"f","description":"F","parameters":{"type":"object","properties":{"x":{"type":"integer"}}}}}`
	call := func(id string) llms.ToolCall {
		return llms.ToolCall{ID: id, Type: "function", FunctionCall: &llms.FunctionCall{Name: "f", Arguments: `{"x":1}`}}
	}
	for _, tt := range []struct {
		name     string
		model    *Options
		messages []llms.MessageContent
		options  []llms.CallOption
		want     string // without model, stream, and the messages human("Hi")
	}{
		{name: "options of the call", options: []llms.CallOption{
			llms.WithTemperature(0.2), llms.WithMaxTokens(7), llms.WithStopWords([]string{"END", ""}), llms.WithSeed(3), llms.WithTopP(0.5),
			llms.WithPresencePenalty(0.25), llms.WithFrequencyPenalty(-0.5), llms.WithJSONMode(), llms.WithMetadata(map[string]any{"a": 1})},
			want: `{"temperature":0.2,"max_completion_tokens":7,"stop":["END"],"seed":3,"top_p":0.5,"presence_penalty":0.25,"frequency_penalty":-0.5,"response_format":{"type":"json_object"}}`},
		{name: "zero, and a choice without tools", options: []llms.CallOption{llms.WithTemperature(0), llms.WithToolChoice("auto")}, want: `{}`},
		{name: "options of the model", model: &Options{MaxTokens: 9, Effort: "low", Extra: map[string]json.RawMessage{"top_k": json.RawMessage("4")}},
			want: `{"max_completion_tokens":9,"reasoning_effort":"low","top_k":4}`},
		{name: "JSON by its MIME type", options: []llms.CallOption{llms.WithResponseMIMEType("application/json")}, want: `{"response_format":{"type":"json_object"}}`},
		{name: "functions", options: []llms.CallOption{llms.WithFunctions([]llms.FunctionDefinition{*tool.Function})}, want: `{"tools":[` + wireTool + `]}`},
		{name: "tools", options: []llms.CallOption{llms.WithToolChoice("none"), llms.WithTools([]llms.Tool{
			tool, {Type: "function", Function: &llms.FunctionDefinition{Name: "g"}}, {Function: &llms.FunctionDefinition{Name: "h", Strict: true, Parameters: map[string]any{"type": "object"}}}})},
			want: `{"tools":[` + wireTool + `,{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}}}},
				{"type":"function","function":{"name":"h","strict":true,"parameters":{"type":"object"}}}],"tool_choice":"none"}`},
		{
			name: "a conversation with tools",
			messages: []llms.MessageContent{
				llms.TextParts(llms.ChatMessageTypeSystem, "Be brief."),
				llms.TextParts(llms.ChatMessageTypeHuman, "one", "two"),
				{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{llms.TextPart("Looking."), call("a"), call("b")}},
				{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{
					llms.ToolCallResponse{ToolCallID: "a", Name: "f", Content: "1"}, llms.ToolCallResponse{ToolCallID: "b", Name: "f"}}},
				{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{llms.TextPart("Done."), llms.BinaryPart("image/png", []byte("png"))}},
				llms.TextParts(llms.ChatMessageTypeGeneric, "Thanks."),
			},
			want: `{"messages":[
				{"role":"system","content":"Be brief."},
				{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]},
				{"role":"assistant","content":"Looking.","tool_calls":[
					{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},
					{"id":"b","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},
				{"role":"tool","tool_call_id":"a","content":"1"},
				{"role":"tool","tool_call_id":"b","content":"(no output)"},
				{"role":"assistant","content":"Done.\n[image/png of the assistant]"},
				{"role":"user","content":"Thanks."}]}`,
		},
		{
			name: "media",
			messages: []llms.MessageContent{{Role: llms.ChatMessageTypeHuman, Parts: []llms.ContentPart{
				llms.TextPart("What?"),
				llms.ImageURLWithDetailPart("https://example.com/a.png", "low"),
				llms.ImageURLWithDetailPart("data:image/png;base64,cG5n", "high"),
				llms.BinaryPart("image/png", []byte("png")),
				llms.BinaryPart("audio/mpeg", []byte("mp3")),
				llms.WithCacheControl(llms.BinaryPart("text/plain", []byte("text")), nil),
			}}},
			want: `{"messages":[{"role":"user","content":[
				{"type":"text","text":"What?"},
				{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}},
				{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n","detail":"high"}},
				{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}},
				{"type":"input_audio","input_audio":{"data":"bXAz","format":"mp3"}},
				{"type":"text","text":"text"}]}]}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, sent := newModel(t, answering(plainAnswer), tt.model)
			messages := tt.messages
			if messages == nil {
				messages = human("Hi")
			}
			check.Must(t, check.Err(m.GenerateContent(t.Context(), messages, tt.options...)))
			var got map[string]json.RawMessage
			check.Must(t, json.Unmarshal([]byte(sent()), &got))
			delete(got, "model")
			delete(got, "stream")
			if tt.messages == nil {
				delete(got, "messages")
			}
			equalJSON(t, string(check.Value(json.Marshal(got))(t)), tt.want)
		})
	}
}

func TestToolChoiceRequired(t *testing.T) {
	tool := llms.Tool{Type: "function", Function: &llms.FunctionDefinition{Name: "f"}}
	for _, tt := range []struct {
		choice any
		want   string
	}{
		{"required", `"required"`},
		{"any", `"required"`},
		{llms.ToolChoice{Type: "function", Function: &llms.FunctionReference{Name: "f"}}, `{"type":"function","function":{"name":"f"}}`},
		{&llms.ToolChoice{Type: "function", Function: &llms.FunctionReference{Name: "f"}}, `{"type":"function","function":{"name":"f"}}`},
	} {
		m, sent := newModel(t, answering(`{"choices":[{"message":{"tool_calls":[{"id":"","function":{"name":"f","arguments":""}}]},"finish_reason":"stop"}]}`), nil)
		res := check.Value(m.GenerateContent(t.Context(), human("Hi"), llms.WithTools([]llms.Tool{tool}), llms.WithToolChoice(tt.choice)))(t)
		call := res.Choices[0].ToolCalls[0]
		check.That(t, call.ID != "" && call.FunctionCall.Arguments == "{}" && res.Choices[0].StopReason == "tool_calls",
			"got call %+v with stop reason %q, want an id, arguments {} and tool_calls", call, res.Choices[0].StopReason)
		var got map[string]json.RawMessage
		check.Must(t, json.Unmarshal([]byte(sent()), &got))
		equalJSON(t, string(got["tool_choice"]), tt.want)
	}
}

// Mistakes of callers are found before the host is asked.
func TestMistakes(t *testing.T) {
	m, _ := newModel(t, func(http.ResponseWriter, *http.Request) { t.Error("the host was asked") }, nil)
	film := []llms.MessageContent{{Role: llms.ChatMessageTypeHuman, Parts: []llms.ContentPart{llms.BinaryPart("video/mp4", []byte("x"))}}}
	check.Text(t, check.Err(m.GenerateContent(t.Context(), film)), `type "video/mp4"`)
	check.Text(t, check.Err(m.GenerateContent(t.Context(), human("Hi"), llms.WithToolChoice("required"))), "there are no tools")
	cfg := openai.DefaultConfig(testKey)
	check.Text(t, check.Err(New(cfg, "", nil)), "name of the model is empty")
	check.Text(t, check.Err(New(cfg, "m", &Options{Host: "acme"})), `host "acme"`)
	check.Text(t, check.Err(New(cfg, "m", &Options{Format: "maybe"})), "use auto, always or never")
}

func TestFromEnv(t *testing.T) {
	for _, tt := range []struct{ name, key, base, want string }{
		{"", "k", "", "OPENAI_MODEL is not set"}, {"m", "", "", "neither OPENAI_API_KEY nor OPENAI_BASE_URL"},
		{"m", "k", "", ""}, {"m", "", "http://localhost:11434/v1", ""}, {"m", "", "ftp://h", "want http://host/path"},
	} {
		t.Setenv("OPENAI_MODEL", tt.name)
		t.Setenv("OPENAI_API_KEY", tt.key)
		t.Setenv("OPENAI_BASE_URL", tt.base)
		m, err := FromEnv()
		check.That(t, (tt.want != "" || err == nil && m.Info().Name == "m") && (tt.want == "" || err != nil && strings.Contains(err.Error(), tt.want)), "%+v: got %v", tt, err)
	}
}

// Behind a gateway Gemini demands the signature that came with a call, and gets it.
func TestSignatureThroughAGateway(t *testing.T) {
	const signed = `{"google":{"thought_signature":"signed"}}`
	calls := answering(`{"choices":[{"message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":` + signed + `}]},"finish_reason":"tool_calls"}]}`)
	s := fakehost.Prepare(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case !strings.Contains(string(body), "tool_calls"):
			calls(w, r)
		case !strings.Contains(string(body), "thought_signature"):
			http.Error(w, `{"error":{"message":"Function call is missing a thought_signature in functionCall parts."}}`, http.StatusBadRequest)
		default:
			answering(plainAnswer)(w, r)
		}
	})
	cfg := openai.DefaultConfig(testKey)
	cfg.BaseURL, cfg.HTTPClient = "https://gateway.test/v1", s.Client()
	m := check.Value(New(cfg, "gemini-3-pro", &Options{Retries: -1}))(t)
	history := []run.Message{run.Text(run.RoleUser, "Hi")}
	reply, _, err := generate(t, m, &model.Request{Messages: history})
	check.Must(t, err)
	result := run.Message{Role: run.RoleTool, Parts: []run.Part{{Type: run.PartResult, ID: "a", Text: "1"}}}
	_, _, err = generate(t, m, &model.Request{Messages: append(history, reply.Message, result)})
	check.Must(t, err)
	check.Contains(t, "the last request", s.Last(), `"extra_content":`+signed)
}

// TestErrors has failures that are known to agents and to langchaingo.
func TestErrors(t *testing.T) {
	isNotFound := func(err error) bool { return errors.Is(err, &llms.Error{Code: llms.ErrCodeResourceNotFound}) }
	for _, tt := range []struct {
		name   string
		status int
		body   string
		is     func(error) bool
		kind   model.ErrorKind
	}{
		{"key", 401, `{"error":{"message":"Incorrect API key provided: ` + testKey + `","code":"invalid_api_key"}}`, llms.IsAuthenticationError, model.ErrorAuth},
		{"credit", 402, `{"error":{"message":"Insufficient credits","code":402}}`, llms.IsAuthenticationError, model.ErrorAuth},
		{"rate", 429, `{"error":{"message":"slow down","type":"requests"}}`, llms.IsRateLimitError, model.ErrorRateLimit},
		{"quota", 400, `{"error":{"message":"pay","code":"billing_hard_limit_reached"}}`, llms.IsQuotaExceededError, model.ErrorAuth},
		{"length", 400, `{"error":{"message":"too long","code":"context_length_exceeded"}}`, llms.IsTokenLimitError, model.ErrorTooLong},
		{"request", 422, `{"detail":[{"loc":["body","messages"],"msg":"field required"}]}`, llms.IsInvalidRequestError, model.ErrorInvalid},
		{"model", 404, `{"error":"model not found"}`, isNotFound, model.ErrorNotFound},
		{"moved", 307, ``, isNotFound, model.ErrorNotFound},
		{"too slow", 408, ``, llms.IsTimeoutError, model.ErrorTimeout},
		{"down", 503, ``, llms.IsProviderUnavailableError, model.ErrorUnavailable},
		{"Groq cannot read a call", 400, `{"error":{"message":"Failed to call a function.","code":"tool_use_failed"}}`, llms.IsProviderUnavailableError, model.ErrorUnavailable},
		{"under 200", 200, `{"error":{"message":"upstream","code":502}}`, llms.IsProviderUnavailableError, model.ErrorUnavailable},
	} {
		m, _ := newModel(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "90")
			w.Header().Set("Location", "https://stranger.example")
			w.WriteHeader(tt.status)
			io.WriteString(w, tt.body)
		}, &Options{Retries: -1})
		_, err := m.GenerateContent(t.Context(), human("Hi"))
		got, ok := errors.AsType[*model.Error](err)
		waits := got != nil && got.RetryAfter == 90*time.Second
		check.That(t, ok && got.Kind == tt.kind && tt.is(err) && waits == (tt.status != 307) && !strings.Contains(err.Error(), testKey), "%s: got %+v, %v", tt.name, got, err)
	}
}

// A stream that fails after it has begun was not repeated: an agent may do so.
func TestFailuresOfStreams(t *testing.T) {
	for name, tt := range map[string]struct {
		api, event string
		want       model.ErrorKind
	}{
		"upstream":    {"chat", `{"error":{"message":"upstream","code":502}}`, model.ErrorUnavailable},
		"cut off":     {"chat", `{"choices":[{"index":0,"delta":{"role":"assistant"}}]}`, model.ErrorUnavailable},
		"no call":     {"chat", `{"choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":"function_call_filter: MALFORMED_FUNCTION_CALL"}]}`, model.ErrorUnavailable},
		"host failed": {"responses", `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"boom"}}}`, model.ErrorUnavailable},
		"rate":        {"responses", `{"type":"error","code":"rate_limit_exceeded","message":"slow down"}`, model.ErrorRateLimit},
	} {
		asked := 0
		m, _ := newModel(t, func(w http.ResponseWriter, r *http.Request) { asked++; fakehost.Streaming("data: "+tt.event)(w, r) }, &Options{API: tt.api})
		var err error
		for _, err = range m.Generate(t.Context(), &model.Request{Messages: []run.Message{run.Text(run.RoleUser, "Hi")}, Stream: true}) {
		}
		got, ok := errors.AsType[*model.Error](err)
		check.That(t, ok && got.Kind == tt.want && !got.Retried && asked == 1,
			"%s: got %+v after %d requests; want kind %d, not repeated", name, got, asked, tt.want)
	}
}

// TestEndpointOfAnEmptyReply continues at Responses after a reply whose only call was cut off.
func TestEndpointOfAnEmptyReply(t *testing.T) {
	m, _ := newModel(t, answering(`{"id":"r","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[`+
		`{"type":"function_call","call_id":"c","name":"f","arguments":""}]}`), &Options{API: "responses"})
	reply, _, err := generate(t, m, &model.Request{Messages: []run.Message{run.Text(run.RoleUser, "Hi")}})
	check.Must(t, err)
	check.That(t, reply.Endpoint == "responses" && len(reply.Message.Parts) == 0, "got %+v", reply)
}
