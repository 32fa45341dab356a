package chat

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestComplete(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	got := check.Value(h.client(t, openAI, nil).Complete(t.Context(), hello()))(t)
	want := &Reply{ID: "1", Model: "m-2026", Endpoint: Chat, Text: "Hello", Finish: FinishStop, Usage: &Usage{Prompt: 3, Completion: 2, Total: 5}, Size: 5}
	check.Same(t, "", got, want)
	equalJSON(t, h.Last(), `{"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":false}`)
}

func azure(baseURL, version string) openai.ClientConfig {
	cfg := openai.DefaultAzureConfig(testKey, baseURL)
	cfg.APIVersion = version
	return cfg
}

// go-openai makes the addresses and credentials.
func TestAddressAndCredentials(t *testing.T) {
	for _, tt := range []struct {
		name              string
		cfg               openai.ClientConfig
		url, header, want string
	}{
		{"OpenAI", openai.DefaultConfig(testKey), "https://api.openai.com/v1/chat/completions", "Authorization", "Bearer " + testKey},
		{"Azure", azure("https://x.openai.azure.com", "2024-10-21"),
			"https://x.openai.azure.com/openai/deployments/gpt-5-mini/chat/completions?api-version=2024-10-21", "Api-Key", testKey},
	} {
		h := newHost(t, answering(plainAnswer))
		var got *http.Request
		tt.cfg.HTTPClient = doerFunc(func(r *http.Request) (*http.Response, error) { got = r; return h.Client().Do(r) })
		c := check.Value(New(tt.cfg, nil))(t)
		r := hello()
		r.Model = "gpt-5-mini"
		check.Must(t, check.Err(c.Complete(t.Context(), r)))
		_, unsent := got.Header["Idempotency-Key"] // a client that signs headers must not see it
		check.That(t, got.URL.String() == tt.url && got.Header.Get(tt.header) == tt.want && !unsent,
			"%s: got %s with %s %q, want %s with %q", tt.name, got.URL, tt.header, got.Header.Get(tt.header), tt.url, tt.want)
	}
}

func TestRetry(t *testing.T) {
	for _, tt := range []struct {
		name             string
		fault            http.HandlerFunc
		opts             Options
		asked            int
		ok               bool // the call succeeds if the fault happens only twice
		waitMin, waitMax time.Duration
	}{
		{"busy", failing(429, "", ""), Options{}, 3, true, 750 * time.Millisecond, 1500 * time.Millisecond},
		{"busy and says until when", failing(429, "Retry-After: 20", ""), Options{}, 3, true, 40 * time.Second, 50 * time.Second},
		{"busy in milliseconds", failing(429, "Retry-After-Ms: 10", ""), Options{}, 3, true, 20 * time.Millisecond, 30 * time.Millisecond},
		{"busy for too long", failing(429, "Retry-After: 31", ""), Options{}, 1, false, 0, 0},
		{"failed", failing(500, "", ""), Options{}, 3, true, 750 * time.Millisecond, 1500 * time.Millisecond},
		{"overloaded", failing(529, "", ""), Options{}, 3, true, 750 * time.Millisecond, 1500 * time.Millisecond},
		{"took too long", failing(408, "", ""), Options{}, 3, true, 750 * time.Millisecond, 1500 * time.Millisecond},
		{"failed under 200", failing(200, "", `{"error":{"message":"m","code":503}}`), Options{}, 3, true, 750 * time.Millisecond, 1500 * time.Millisecond},
		{"failed, one retry", failing(500, "", ""), Options{Retries: 1}, 2, false, 250 * time.Millisecond, 500 * time.Millisecond},
		{"failed, no retries", failing(500, "", ""), Options{Retries: -1}, 1, false, 0, 0},
		{"connection cut before an answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, Options{}, 3, true, 750 * time.Millisecond, 1500 * time.Millisecond},
		{"what the model wrote", failing(500, "", `{"error":{"message":"llama-server returned invalid tool call arguments: x"}}`), Options{}, 1, false, 0, 0},
		{"no money", failing(429, "", `{"error":{"message":"m","type":"exceeded_current_quota_error"}}`), Options{}, 1, false, 0, 0},
		{"not there", failing(501, "", ""), Options{}, 1, false, 0, 0},
		{"bad request", failing(400, "", ""), Options{}, 1, false, 0, 0},
		{"bad key", failing(401, "", ""), Options{}, 1, false, 0, 0},
		{"no JSON", failing(200, "", "x"), Options{}, 1, false, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, inTurn(tt.fault, tt.fault, answering(plainAnswer)))
				defer h.Close()
				start := time.Now()
				_, err := h.client(t, openAI, &tt.opts).Complete(t.Context(), hello())
				check.That(t, (err == nil) == tt.ok && h.Asked() == tt.asked,
					"got %v after %d attempts, want success %t after %d", err, h.Asked(), tt.ok, tt.asked)
				for i, again := range h.Requests() {
					check.Equal(t, i, again, h.Requests()[0])
				}
				wait := time.Since(start)
				check.That(t, wait >= tt.waitMin && wait <= tt.waitMax, "waited %v, want %v to %v", wait, tt.waitMin, tt.waitMax)
			})
		})
	}
}

// A host that loads the model is asked again for some minutes, and no longer.
func TestLoadingModel(t *testing.T) {
	for _, test := range []struct {
		ready   time.Duration
		retries int
		ok      bool
	}{{time.Minute, 0, true}, {time.Hour, 0, false}, {time.Minute, -1, false}} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			h := newHost(t, func(w http.ResponseWriter, r *http.Request) {
				if time.Since(began) < test.ready {
					failing(503, "", `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`)(w, r)
					return
				}
				answering(plainAnswer)(w, r)
			})
			defer h.Close()
			_, err := h.client(t, openAI, &Options{Retries: test.retries}).Complete(t.Context(), hello())
			took := time.Since(began)
			check.That(t, (err == nil) == test.ok && took <= maxLoading && h.Asked() <= 20, "ready after %v: got %v after %v and %d requests, want success %t", test.ready, err, took, h.Asked(), test.ok)
		})
	}
}

func TestCancelWhileWaitingToRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, failing(429, "Retry-After: 20", ""))
		defer h.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := h.client(t, openAI, nil).Complete(ctx, hello())
		check.That(t, errors.Is(err, context.DeadlineExceeded) && strings.Contains(err.Error(), "HTTP status 429"),
			"got %v, want %v and what it waited for", err, context.DeadlineExceeded)
	})
}

func TestRequiredCall(t *testing.T) {
	r := hello()
	r.Tools, r.ToolChoice = []Tool{{Name: "f"}}, ToolChoice{Choice: Required}
	h := newHost(t, answering(`{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f"}}]}}]}`))
	check.Must(t, check.Err(h.client(t, moonshot, nil).Complete(t.Context(), r)))
	check.That(t, strings.Contains(h.Last(), "Answer by calling at least one of the tools.") && !strings.Contains(h.Last(), "tool_choice"),
		"got %s, want an instruction instead of tool_choice", h.Last())

	h = newHost(t, answering(plainAnswer))
	failure := wantCode(t, check.Err(h.client(t, openAI, nil).Complete(t.Context(), r)), CodeNoToolCall)
	check.Equal(t, "requests, not called", h.Asked(), 1)
	check.Same(t, "usage, not called", failure.Usage, &Usage{Prompt: 3, Completion: 2, Total: 5})
	wantCode(t, check.Err(h.client(t, openAI, nil).Stream(t.Context(), r, Deltas{})), CodeNoToolCall)

	h = newHost(t, answering(`{"choices":[{"message":{"content":"a"},"finish_reason":"length"}]}`))
	reply := check.Value(h.client(t, openAI, nil).Complete(t.Context(), r))(t)
	check.Equal(t, "cut off", reply.Finish, FinishLength)
}

// Some hosts stream without a request to stream; others answer in one piece despite it.
func TestTheOtherFormOfAnswer(t *testing.T) {
	h := newHost(t, streaming(`data: {"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}`))
	got := check.Value(h.client(t, openAI, nil).Complete(t.Context(), hello()))(t)
	check.Equal(t, "streamed unasked", got.Text, "Hello")
	for _, typ := range []string{"", "text/plain", "application/json", "application/octet-stream"} {
		for _, first := range []string{": hi\n\n", "event: message\n", ""} {
			h = newHost(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Content-Type"] = []string{typ}
				io.WriteString(w, first+chunk(`{"content":"Hello"}`, "stop")+"\n\n")
			})
			check.Equal(t, typ, check.Value(h.client(t, openAI, nil).Stream(t.Context(), hello(), Deltas{}))(t).Text, "Hello")
		}
	}
	for name, h := range map[string]*host{
		"in one piece": newHost(t, answering(plainAnswer)), "in one piece, called a stream": newHost(t, streaming(plainAnswer)),
		"in one piece, with the end of a stream": newHost(t, streaming(plainAnswer, done)),
	} {
		var piece string
		got, err := h.client(t, openAI, nil).Stream(t.Context(), hello(), Deltas{Text: func(s string) error { piece += s; return nil }})
		check.That(t, err == nil && got.Text == "Hello" && piece == "Hello" && got.Usage.Total == 5,
			"%s: got %+v and the piece %q, %v, want Hello", name, got, piece, err)
	}
}

func TestReplyVariants(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		want         Reply
	}{
		{"no usage", `{"choices":[{"message":{"content":"x"}}]}`, Reply{Model: "m", Text: "x"}},
		{"id as a number", `{"id":7,"choices":[{"message":{"content":"x"}}]}`, Reply{ID: "7", Model: "m", Text: "x"}},
		{"second choice first", `{"choices":[{"index":1,"message":{"content":"y"}},{"index":0,"message":{"content":"x"}}]}`, Reply{Model: "m", Text: "x"}},
		{"reasoning", `{"choices":[{"message":{"content":"x","reasoning":"Hm."}}]}`, Reply{Model: "m", Text: "x", Reasoning: "Hm."}},
		{"phantom call", `{"choices":[{"message":{"content":"x","tool_calls":[{"id":"","function":{"name":"","arguments":""}}]},"finish_reason":"stop"}]}`,
			Reply{Model: "m", Text: "x", Finish: FinishStop}},
		{"ids twice", `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f"}},{"id":"a","function":{"name":"f"}}]}}]}`,
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "ID", Name: "f", Arguments: "{}"}}}},
		{"id of an earlier call", `{"choices":[{"message":{"tool_calls":[{"id":"old","function":{"name":"f"}}]}}]}`,
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{{ID: "ID", Name: "f", Arguments: "{}"}}}},
		{"malformed arguments are kept", `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{x"}}]}}]}`,
			Reply{Model: "m", Finish: FinishToolCalls, ToolCalls: []ToolCall{{ID: "a", Name: "f", Arguments: "{x"}}}},
		{"one call whole, one cut off", `{"choices":[{"finish_reason":"length","message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"f","arguments":"{\"x"}}]}}]}`,
			Reply{Model: "m", Finish: FinishLength, ToolCalls: []ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}}},
		{"one call without arguments, one cut off before them", `{"choices":[{"finish_reason":"length","message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":""}},{"id":"b","function":{"name":"f","arguments":""}}]}}]}`,
			Reply{Model: "m", Finish: FinishLength, ToolCalls: []ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}}},
		{"filtered beside a call", `{"choices":[{"finish_reason":"content_filter","message":{"content":"x","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}`,
			Reply{Model: "m", Text: "x", Finish: FinishContentFilter}},
		{"stop sequence", `{"choices":[{"finish_reason":"stop","message":{"content":"a###b","tool_calls":[{"id":"a","function":{"name":"f"}}]}}]}`,
			Reply{Model: "m", Text: "a", Finish: FinishStop, Stopped: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, answering(tt.answer))
			r := hello()
			r.Stop = []string{"###"}
			r.Messages = append(r.Messages, Message{Role: Assistant, ToolCalls: []ToolCall{{ID: "old", Name: "f"}}})
			sameReply(t, check.Value(h.client(t, openAI, nil).Complete(t.Context(), r))(t), &tt.want)
		})
	}
}

func TestConfigIsNotShared(t *testing.T) {
	client := newHost(t, answering(plainAnswer)).Client()
	cfg := openai.DefaultConfig(testKey)
	cfg.HTTPClient = client
	check.Must(t, check.Err(check.Value(New(cfg, nil))(t).Complete(t.Context(), hello())))
	check.That(t, cfg.HTTPClient == client, "the caller's configuration was changed")
}

// Hosts behind an unknown URL refuse fields in which others want reasoning back, stop sequences and penalties. Later requests
// leave out what was refused.
func TestRefusedFields(t *testing.T) {
	const used = `{"choices":[{"message":{"content":"Hello, you."},"finish_reason":"stop"}]}`
	for name, tt := range map[string]struct {
		refused map[string]string // message by a text in the request
		asked   []int             // requests so far after each question
		last    string
	}{
		"Cerebras": {map[string]string{`"reasoning_content"`: "messages.1.assistant.reasoning_content: property 'messages.1.assistant.reasoning_content' is unsupported"},
			[]int{2, 3}, `"reasoning":"Hm."`},
		"a gateway to Groq": {map[string]string{`"reasoning_content"`: "'messages.1' : property 'reasoning_content' is unsupported", `"reasoning":`: "messages[1].reasoning: reasoning is not supported with this model"},
			[]int{3, 4}, `"content":"a"}`},
		"xAI": {map[string]string{`"stop"`: "Model grok-4.5 does not support parameter stop.", `"presence_penalty"`: "Model grok-4.5 does not support parameter presencePenalty."},
			[]int{3, 4}, `"reasoning_content":"Hm."`},
		"two at once":     {map[string]string{`"presence_penalty"`: "Unsupported parameters: temperature, presence_penalty"}, []int{2, 3}, `"frequency_penalty":0`},
		"another refusal": {map[string]string{`"model"`: "reasoning_effort is not supported with this model"}, []int{1, 2}, `"stop"`},
	} {
		h := refusing(t, answering(used), tt.refused)
		c := h.client(t, "http://memhttp.test/v1", &Options{Retries: -1})
		for i, want := range tt.asked {
			r := &Request{Model: "m", Recorded: true, Temperature: new(0.5), Stop: []string{", you"}, PresencePenalty: new(0.5), FrequencyPenalty: new(0.0),
				Messages: []Message{Text(User, "Hi"), {Role: Assistant, Reasoning: "Hm.", Parts: []Part{{Text: "a"}}}, Text(User, "b")}}
			got, err := c.Complete(t.Context(), r)
			if name == "another refusal" {
				wantCode(t, err, "")
			} else if err != nil || got.Text != "Hello" || (got.Warning != "") != (name == "xAI" || name == "two at once") {
				t.Errorf("%s: got %+v, %v", name, got, err)
			}
			check.That(t, h.Asked() == want && strings.Contains(h.Last(), tt.last) && (name != "two at once" || !strings.Contains(h.Last(), "temperature")),
				"%s: request %d: asked %d times, want %d; the last one was %s, want %s in it", name, i, h.Asked(), want, h.Last(), tt.last)
		}
	}
}

// A model that refuses one value of a field may take another.
func TestRefusedValue(t *testing.T) {
	type request struct {
		value any    // an effort, or a temperature
		sent  string // "" if the field is left out
		asked int
	}
	for _, tt := range []struct {
		url, refused, message string
		requests              []request
	}{
		{local, `"xhigh"`, "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model.",
			[]request{{"xhigh", "", 2}, {"low", `"reasoning_effort":"low"`, 3}, {"xhigh", "", 4}}},
		{ollama, `"xhigh"`, `invalid reasoning value: 'xhigh' (must be \"high\", \"medium\", \"low\", \"max\", or \"none\")`, []request{{"xhigh", "", 2}, {"xhigh", "", 3}}},
		{local, `"low"`, "reasoning_effort must be one of none or default", []request{{"low", "", 2}, {"low", "", 3}}},
		{local, `"xhigh"`, `1 validation error:\n  {'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be 'low', 'medium' or 'high'\"}`, []request{{"xhigh", "", 2}, {"xhigh", "", 3}}},
		{moonshot, `"disabled"`, "invalid thinking: only type=enabled is allowed for this model",
			[]request{{"none", "", 2}, {"high", `"reasoning_effort":"high"`, 3}, {"none", "", 4}}},
		{moonshot, `:0.2`, "invalid temperature: only 1 is allowed for this model",
			[]request{{0.2, "", 2}, {1.0, `"temperature":1`, 3}, {0.2, "", 4}}},
		{local, `"temperature"`, "`temperature` is deprecated for this model.", []request{{0.2, "", 2}, {1.0, "", 3}}},
	} {
		h := refusing(t, answering(plainAnswer), map[string]string{tt.refused: tt.message})
		c := h.client(t, tt.url, &Options{Retries: -1})
		for i, want := range tt.requests {
			r := hello()
			switch value := want.value.(type) {
			case string:
				r.ReasoningEffort = value
			case float64:
				r.Temperature = &value
			}
			got := check.Value(c.Complete(t.Context(), r))(t)
			isSent := strings.Contains(h.Last(), "reasoning_effort") || strings.Contains(h.Last(), "temperature") || strings.Contains(h.Last(), "thinking")
			check.That(t, h.Asked() == want.asked && isSent == (want.sent != "") && strings.Contains(h.Last(), want.sent) && isSent == (got.Warning == ""),
				"%s: request %d: asked %d times, want %d; the last one was %s, with the warning %q", tt.message, i, h.Asked(), want.asked, h.Last(), got.Warning)
		}
	}
}

// Models differ in the name of the bound of a reply. A host that refuses both is asked with the other one once.
func TestRefusedBound(t *testing.T) {
	openai := map[string]string{`"max_tokens"`: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}
	mistral := map[string]string{`"max_completion_tokens"`: "[{'loc': ('body', 'max_completion_tokens'), 'msg': 'Extra inputs are not permitted'}]"}
	both := map[string]string{}
	maps.Copy(both, openai)
	maps.Copy(both, mistral)
	for i, tt := range []struct {
		host    string
		refused map[string]string
		asked   []int
		last    string // "" if the host refuses all
	}{{"", openai, []int{2, 3}, `"max_completion_tokens":5`}, {"azure", mistral, []int{2, 3}, `"max_tokens":5`}, {"", both, []int{3, 6}, ""}} {
		h := refusing(t, answering(plainAnswer), tt.refused)
		c := h.client(t, "http://memhttp.test/v1", &Options{Host: tt.host, Retries: -1})
		for _, want := range tt.asked {
			_, err := c.Complete(t.Context(), &Request{Model: "m", Messages: hello().Messages, MaxTokens: 5})
			check.That(t, (err == nil) == (tt.last != "") && h.Asked() == want && strings.Contains(h.Last(), tt.last),
				"host %d: got %v after %d requests, want %d; the last one was %s", i, err, h.Asked(), want, h.Last())
		}
	}
}

// Hosts demand what their models send with calls: a signature with the first one of a message, or reasoning. The
// calls of another model have none.
func TestCallsOfAnotherModel(t *testing.T) {
	const gateway = "http://memhttp.test/v1"
	signature := map[string]string{`"arguments":"{}"}}`: "Function call is missing a thought_signature in functionCall parts."}
	thought := map[string]string{`{\"x\":1}"}}]}`: "The `reasoning_content` in the thinking mode must be passed back to the API."}
	missing := map[string]string{`{\"x\":1}"}}]}`: "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1"}
	for _, tt := range []struct {
		url     string
		refused map[string]string
		sent    string
	}{
		{gemini, signature, "skip_thought_signature_validator"}, {gateway, signature, "skip_thought_signature_validator"},
		{deepseek, thought, `"reasoning_content":" "`}, {moonshot, missing, `"reasoning_content":" "`}, {gateway, thought, `"reasoning_content":" "`},
	} {
		h := refusing(t, answering(plainAnswer), tt.refused)
		c := h.client(t, tt.url, &Options{Retries: -1})
		for _, want := range []int{2, 3} {
			_, err := c.Complete(t.Context(), &Request{Model: "m", Messages: []Message{
				Text(User, "Hi"), {Role: Assistant, ToolCalls: []ToolCall{{ID: "a", Name: "f"}, {ID: "b", Name: "f", Arguments: `{"x":1}`}}},
				{Role: ToolRole, ToolCallID: "a", Parts: []Part{{Text: "1"}}}, {Role: ToolRole, ToolCallID: "b", Parts: []Part{{Text: "2"}}},
			}})
			n := strings.Count(h.Last(), tt.sent)
			check.That(t, err == nil && h.Asked() == want && n == 1, "%s: got %v after %d requests, want %d; %d of %s", tt.url, err, h.Asked(), want, n, tt.sent)
		}
	}
}

// A reply has all warnings about its request.
func TestWarnings(t *testing.T) {
	h := refusing(t, answering(plainAnswer),
		map[string]string{"presence_penalty": "Unsupported parameter: 'presence_penalty' is not supported with this model."})
	got := check.Value(h.client(t, openAI, &Options{API: Chat}).Complete(t.Context(), &Request{
		Model: "gpt-5.6-sol", Messages: hello().Messages, Tools: []Tool{{Name: "f"}}, PresencePenalty: new(0.5),
	}))(t)
	check.Contains(t, "effort", got.Warning, "without reasoning: the effort is none; ")
	check.Contains(t, "penalty", got.Warning, "does not take the presence_penalty 0.5: it is left out")
}

// DeepSeek cannot be forced to call a tool while it thinks: an instruction asks for the call.
func TestRefusedChoice(t *testing.T) {
	for i, tt := range []struct {
		choice  ToolChoice
		refused string
		last    string // text of the accepted request
	}{
		{ToolChoice{Choice: Required}, `"tool_choice":"required"`, "Answer by calling at least one of the tools."},
		{ToolChoice{Choice: Named, Name: "f"}, `"tool_choice":{"`, "Answer by calling at least one of the tools."},
		{ToolChoice{Choice: None}, `"tool_choice":"none"`, `"messages":[{"role":"user","content":"Hi"}]`},
	} {
		h := refusing(t, answering(`{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}`),
			map[string]string{tt.refused: "Thinking mode does not support this tool_choice"})
		c := h.client(t, "https://api.deepseek.com", nil)
		for _, want := range []int{2, 3} {
			got, err := c.Complete(t.Context(), &Request{Model: "m", Messages: hello().Messages, ToolChoice: tt.choice, Tools: []Tool{{Name: "f"}, {Name: "g"}}})
			check.That(t, err == nil && len(got.ToolCalls) == 1 && h.Asked() == want && strings.Contains(h.Last(), tt.last),
				"choice %d: got %+v, %v after %d requests, want a call after %d; the last request was %s, want %s in it", i, got, err, h.Asked(), want, h.Last(), tt.last)
		}
		check.Equal(t, i, strings.Contains(h.Last(), `"name":"g"`), (tt.choice.Choice == Required))
	}
}

// A gateway to Anthropic may pass on that max_tokens is missing.
func TestBoundForTheUpstream(t *testing.T) {
	var h *host
	refuse := failing(400, "", `{"error":{"message":"anthropic error: max_tokens: Field required","type":"invalid_request_error"}}`)
	h = newHost(t, func(w http.ResponseWriter, r *http.Request) {
		if h.Asked() <= 5 && strings.Contains(h.Last(), `"max_tokens":8192`) {
			answering(plainAnswer)(w, r)
			return
		}
		refuse(w, r)
	})
	c := h.client(t, "http://memhttp.test/v1", &Options{Retries: -1})
	for i, r := range []*Request{hello(), hello(), {Model: "other", Messages: hello().Messages}} {
		check.Must(t, check.Err(c.Complete(t.Context(), r)))
		check.Equal(t, i, h.Asked(), []int{2, 3, 5}[i])
	}
	own, third := hello(), &Request{Model: "third", Messages: hello().Messages}
	own.MaxTokens = 5
	for i, r := range []*Request{own, third, third} { // a bound that does not help is not kept
		before := h.Asked()
		_, err := c.Complete(t.Context(), r)
		check.That(t, err != nil && h.Asked()-before == min(i+1, 2), "call %d: got %v after %d requests, want the host's error", i, err, h.Asked()-before)
	}
}
