package chat

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// sent asks a host under a base URL and returns the request to it, without the fields of every request.
func sent(t *testing.T, baseURL string, opts *Options, r *Request) map[string]json.RawMessage {
	t.Helper()
	h := newHost(t, answering(`{"choices":[{"message":{"content":"x","tool_calls":[{"id":"z","function":{"name":"f"}}]}}]}`))
	check.Must(t, check.Err(h.client(t, baseURL, opts).Complete(t.Context(), r)))
	var got map[string]json.RawMessage
	check.Must(t, json.Unmarshal([]byte(h.Last()), &got))
	return got
}

const (
	openAI   = "https://api.openai.com/v1"
	ollama   = "http://localhost:11434/v1"
	mistral  = "https://api.mistral.ai/v1"
	moonshot = "https://api.moonshot.ai/v1"
	deepseek = "https://api.deepseek.com"
	gemini   = "https://generativelanguage.googleapis.com/v1beta/openai"
	local    = "http://127.0.0.1:8080/v1"
)

func TestEncodeParameters(t *testing.T) {
	tools := []Tool{{Name: "f", Parameters: json.RawMessage(`{"type":"object"}`), Strict: true}, {Name: "g"}}
	const (
		wireF  = `{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}`
		strict = `{"type":"function","function":{"name":"f","strict":true,"parameters":{"type":"object"}}}`
		wireG  = `{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}}}}`
	)
	stops := []string{"a", "b", "c", "d", "e"}
	for _, tt := range []struct {
		name, url, model string
		request          Request
		want             string // JSON without model, messages and stream
	}{
		{"temperature 0", openAI, "gpt-4.1", Request{Temperature: new(0.0)}, `{"temperature":0}`},
		{"temperature as written", openAI, "gpt-4.1", Request{Temperature: new(0.7)}, `{"temperature":0.7}`},
		{"no temperature", openAI, "gpt-4.1", Request{}, `{}`},
		{"zeros", local, "m", Request{TopP: new(0.0), PresencePenalty: new(0.0), FrequencyPenalty: new(0.0), Seed: new(0)},
			`{"top_p":0,"presence_penalty":0,"frequency_penalty":0,"seed":0}`},
		{"temperature of a reasoning model", openAI, "gpt-5-mini", Request{Temperature: new(0.7), TopP: new(0.5)}, `{}`},
		{"temperature of o3", openAI, "o3", Request{Temperature: new(0.7)}, `{}`},
		{"temperature of gpt-5-chat", openAI, "gpt-5-chat-latest", Request{Temperature: new(0.7)}, `{"temperature":0.7}`},
		{"temperature of gpt-5.1", openAI, "gpt-5.1", Request{Temperature: new(0.7)}, `{"temperature":0.7}`},
		{"temperature of gpt-5.1 when it reasons", openAI, "gpt-5.1", Request{Temperature: new(0.7), ReasoningEffort: "low"}, `{"reasoning_effort":"low"}`},
		{"temperature of gpt-5.1-codex", openAI, "gpt-5.1-codex-max", Request{Temperature: new(0.7)}, `{}`},
		{"temperature of gpt-5.5", openAI, "gpt-5.5", Request{Temperature: new(0.7)}, `{}`},
		{"temperature of gpt-5.5 when it does not reason", openAI, "gpt-5.5", Request{Temperature: new(0.7), ReasoningEffort: "none"},
			`{"temperature":0.7,"reasoning_effort":"none"}`},
		{"temperature at OpenRouter", "https://openrouter.ai/api/v1", "openai/gpt-5", Request{Temperature: new(0.7)}, `{}`},
		{"no thoughts at DeepSeek", deepseek, "deepseek-v4-pro", Request{ReasoningEffort: "none"}, `{"thinking":{"type":"disabled"}}`},
		{"no thoughts at Moonshot", moonshot, "kimi-k2.6", Request{ReasoningEffort: "none"}, `{"thinking":{"type":"disabled"}}`},
		{"few thoughts at DeepSeek", deepseek, "deepseek-v4-pro", Request{ReasoningEffort: "low"}, `{"reasoning_effort":"low"}`},
		{"temperature of a local gpt-5", local, "gpt-5-nano-gguf", Request{Temperature: new(1.0)}, `{"temperature":1}`},

		{"tokens at OpenAI", openAI, "gpt-4.1", Request{MaxTokens: 7}, `{"max_completion_tokens":7}`},
		{"tokens at Ollama", ollama, "llama", Request{MaxTokens: 7}, `{"max_tokens":7}`},
		{"tokens of a local o1", local, "o1-distill", Request{MaxTokens: 7}, `{"max_tokens":7}`},

		{"stops", openAI, "gpt-4.1", Request{Stop: stops}, `{"stop":["a","b","c","d"]}`},
		{"stops of a reasoning model", openAI, "o4-mini", Request{Stop: stops}, `{}`},
		{"empty stops", openAI, "gpt-4.1", Request{Stop: []string{"", ""}}, `{}`},

		{"seed at Mistral", mistral, "mistral-small", Request{Seed: new(3)}, `{"random_seed":3}`},
		{"JSON", openAI, "gpt-4.1", Request{JSON: true}, `{"response_format":{"type":"json_object"}}`},
		{"format", openAI, "gpt-4.1", Request{JSON: true, Format: &Format{Name: "f", Schema: json.RawMessage(`{"type":"object"}`)}},
			`{"response_format":{"type":"json_schema","json_schema":{"name":"f","schema":{"type":"object"},"strict":true}}}`},
		{"metadata", mistral, "m", Request{Metadata: map[string]string{"a": "b"}}, `{"metadata":{"a":"b"}}`},

		{"tools", openAI, "gpt-4.1", Request{Tools: tools}, `{"tools":[` + strict + `,` + wireG + `]}`},
		{"tools of llama.cpp", local, "m", Request{Tools: tools}, `{"tools":[` + wireF + `,` + wireG + `]}`},
		{"none", openAI, "gpt-4.1", Request{Tools: tools[1:], ToolChoice: ToolChoice{Choice: None}}, `{"tools":[` + wireG + `],"tool_choice":"none"}`},
		{"none at Mistral", mistral, "m", Request{Tools: tools, ToolChoice: ToolChoice{Choice: None}}, `{}`},
		{"none at Ollama", ollama, "m", Request{Tools: tools, ToolChoice: ToolChoice{Choice: None}}, `{}`},
		{"required", openAI, "gpt-4.1", Request{Tools: tools[1:], ToolChoice: ToolChoice{Choice: Required}},
			`{"tools":[` + wireG + `],"tool_choice":"required"}`},
		{"required at Mistral", mistral, "m", Request{Tools: tools[1:], ToolChoice: ToolChoice{Choice: Required}},
			`{"tools":[` + wireG + `],"tool_choice":"any"}`},
		{"named", openAI, "gpt-4.1", Request{Tools: tools, ToolChoice: ToolChoice{Named, "g"}},
			`{"tools":[` + strict + `,` + wireG + `],"tool_choice":{"type":"function","function":{"name":"g"}}}`},
		{"named where only strings are known", local, "m", Request{Tools: tools, ToolChoice: ToolChoice{Named, "g"}},
			`{"tools":[` + wireG + `],"tool_choice":"required"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.request
			r.Model, r.Messages = tt.model, []Message{Text(User, "Hi")}
			got := sent(t, tt.url, &Options{API: Chat}, &r)
			for _, key := range []string{"model", "messages", "stream"} {
				delete(got, key)
			}
			equalJSON(t, string(check.Value(json.Marshal(got))(t)), tt.want)
		})
	}
}

func TestEncodeMessages(t *testing.T) {
	call := func(id, args string) ToolCall { return ToolCall{ID: id, Name: "f", Arguments: args} }
	answer := func(id, text string) Message {
		m := Text(ToolRole, text)
		m.ToolCallID = id
		return m
	}
	calling := Message{Role: Assistant, ToolCalls: []ToolCall{call("a", "")}, Reasoning: "Hm."}
	const wireCall = `[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]`
	image := Part{Image: &Image{MIMEType: "image/png", Data: []byte("png")}}
	for _, tt := range []struct {
		name, url, model string
		messages         []Message
		want             string
	}{
		{"one system message", local, "m", []Message{Text(System, "a"), Text(System, ""), Text(System, "b"), Text(User, "c")},
			`[{"role":"system","content":"a\n\nb"},{"role":"user","content":"c"}]`},
		{"a later system message", openAI, "m", []Message{Text(User, "c"), Text(System, "b")},
			`[{"role":"user","content":"c"},{"role":"system","content":"b"}]`},
		{"developer", openAI, "o3", []Message{Text(System, "a"), Text(User, "b")},
			`[{"role":"developer","content":"a"},{"role":"user","content":"b"}]`},
		{"o1-mini knows no instructions", openAI, "o1-mini", []Message{Text(System, "a"), Text(User, "b")},
			`[{"role":"user","content":"a"},{"role":"user","content":"b"}]`},
		{"empty text", openAI, "m", []Message{Text(User, ""), Text(Assistant, "")},
			`[{"role":"user","content":""},{"role":"assistant","content":""}]`},
		{"no parts", openAI, "m", []Message{{Role: User}}, `[{"role":"user","content":""}]`},
		{"HTML stays", openAI, "m", []Message{Text(User, "<a&b>")}, `[{"role":"user","content":"<a&b>"}]`},
		{"parts", openAI, "m", []Message{{Role: User, Parts: []Part{{Text: "a"}, image}}},
			`[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]}]`},
		{"empty parts", openAI, "m", []Message{{Role: User, Parts: []Part{{}, image, {}}}},
			`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]}]`},
		{"texts in parts", openAI, "m", []Message{{Role: User, Parts: []Part{{Text: "a"}, {Text: "b"}}}},
			`[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`},
		{"texts at DeepSeek", deepseek, "m", []Message{{Role: User, Parts: []Part{{Text: "a"}, {Text: "b"}}}}, `[{"role":"user","content":"a\nb"}]`},
		{"audio", openAI, "m", []Message{Text(User, "a"), {Role: User, Parts: []Part{{Text: "b"}, {Audio: &Audio{"wav", []byte("wav")}}, image}}},
			`[{"role":"user","content":"a"},{"role":"user","content":[{"type":"text","text":"b"},
			  {"type":"input_audio","input_audio":{"data":"d2F2","format":"wav"}},
			  {"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]}]`},
		{"calls and answers", openAI, "m", []Message{Text(User, "a"), calling, answer("a", "")},
			`[{"role":"user","content":"a"},{"role":"assistant","tool_calls":` + wireCall + `},{"role":"tool","tool_call_id":"a","content":"(no output)"}]`},
		{"calls at DeepSeek", deepseek, "m", []Message{calling, answer("a", "1")},
			`[{"role":"assistant","content":"","reasoning_content":"Hm.","tool_calls":` + wireCall + `},{"role":"tool","tool_call_id":"a","name":"f","content":"1"}]`},
		{"malformed arguments", openAI, "m", []Message{{Role: Assistant, ToolCalls: []ToolCall{call("a", `{"x"`), call("b", ` {"x":1} `), call("c", `[1]`)}}},
			`[{"role":"assistant","tool_calls":[
			  {"id":"a","type":"function","function":{"name":"f","arguments":"{\"malformed\":\"{\\\"x\\\"\"}"}},
			  {"id":"b","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},
			  {"id":"c","type":"function","function":{"name":"f","arguments":"{\"malformed\":\"[1]\"}"}}]}]`},
		{"a user after a tool at Mistral", mistral, "m", []Message{calling, answer("a", "1"), Text(User, "b")},
			`[{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}],"closed":true}],"tool_calls":[{"id":"1y1q7x1lu","type":"function","function":{"name":"f","arguments":"{}"}}]},
			  {"role":"tool","tool_call_id":"1y1q7x1lu","name":"f","content":"1"},
			  {"role":"assistant","content":"I have the results."},{"role":"user","content":"b"}]`},
		{"the assistant last at Mistral", mistral, "m", []Message{Text(User, "a"), {Role: Assistant, Reasoning: "Hm.", Parts: []Part{{Text: "b"}}}},
			`[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}],"closed":true},
			  {"type":"text","text":"b"}]},{"role":"user","content":"Continue."}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			equalJSON(t, string(sent(t, tt.url, nil, &Request{Model: tt.model, Messages: tt.messages})["messages"]), tt.want)
		})
	}
}

func TestEncodeErrors(t *testing.T) {
	user := []Message{Text(User, "Hi")}
	h := newHost(t, answering(plainAnswer))
	c := h.client(t, openAI, nil)
	for _, tt := range []struct {
		name    string
		request Request
		want    string
	}{
		{"nothing", Request{}, "no messages"},
		{"role", Request{Messages: []Message{{Role: "judge"}}}, `role "judge"`},
		{"answer to nothing", Request{Messages: []Message{Text(ToolRole, "x")}}, "no call id"},
		{"call without id", Request{Messages: []Message{{Role: Assistant, ToolCalls: []ToolCall{{Name: "f"}}}}}, `id ""`},
		{"call without name", Request{Messages: []Message{{Role: Assistant, ToolCalls: []ToolCall{{ID: "a"}}}}}, `name ""`},
		{"picture of the assistant", Request{Messages: []Message{{Role: Assistant, Parts: []Part{{Image: &Image{}}}}}}, "text only"},
		{"no picture", Request{Messages: []Message{{Role: User, Parts: []Part{{Image: &Image{}}}}}}, "neither data"},
		{"required", Request{Messages: user, ToolChoice: ToolChoice{Choice: Required}}, "there are no tools"},
		{"named", Request{Messages: user, Tools: []Tool{{Name: "f"}}, ToolChoice: ToolChoice{Named, "g"}}, `names "g"`},
	} {
		check.Text(t, check.Err(c.Complete(t.Context(), &tt.request)), tt.want, tt.name)
	}
	check.Equal(t, "requests", h.Asked(), 0)
}

// OpenAI's models since gpt-5.5 take tools at Chat Completions only if they do not reason, and some not at all.
func TestToolsOfOpenAI(t *testing.T) {
	for _, tt := range []struct {
		model, effort string
		tools         bool
		url           string
		want          string // the effort that is sent; "!" for a refusal
		warns         bool
	}{
		{"gpt-5.4", "", true, openAI, "", false},
		{"gpt-5-mini", "", true, openAI, "", false},
		{"gpt-5.6-sol", "", true, openAI, "none", true},
		{"gpt-5.6-sol", "none", true, openAI, "none", false},
		{"gpt-5.6-sol", "", false, openAI, "", false},
		{"gpt-6-sol", "", true, openAI, "none", true},
		{"gpt-6-luna", "", true, openAI, "none", true},
		{"gpt-6-astra", "", true, openAI, "!", false},
		{"gpt-6.1-sol", "", true, openAI, "!", false},
		{"openai/gpt-5.6-sol", "", true, "https://openrouter.ai/api/v1", "", false},
	} {
		h := newHost(t, answering(plainAnswer))
		r := hello()
		r.Model, r.ReasoningEffort = tt.model, tt.effort
		if tt.tools {
			r.Tools = []Tool{{Name: "f"}}
		}
		reply, err := h.client(t, tt.url, &Options{API: Chat}).Complete(t.Context(), r)
		if tt.want == "!" {
			wantCode(t, err, CodeRequest)
			check.That(t, h.Asked() == 0 && strings.Contains(err.Error(), "set API to responses"),
				"%s: got %v after %d requests, want a way out before any", tt.model, err, h.Asked())
			continue
		}
		check.Must(t, err)
		var sent struct{ Reasoning_Effort string }
		check.Must(t, json.Unmarshal([]byte(h.Last()), &sent))
		check.That(t, sent.Reasoning_Effort == tt.want && (reply.Warning != "") == tt.warns,
			"%s with effort %q: got %q, warning %q, want %q", tt.model, tt.effort, sent.Reasoning_Effort, reply.Warning, tt.want)
	}
}

// Content that a host is known to refuse is an error of ours, before the request.
func TestHostsThatDoNotTakeIt(t *testing.T) {
	user := func(p Part) Request {
		return Request{Messages: []Message{Text(User, "Hi"), {Role: User, Parts: []Part{p}}}}
	}
	file := user(Part{File: &File{Name: "a.pdf", MIMEType: "application/pdf", Data: []byte("pdf")}})
	byURL := func(u string) Request { return user(Part{Image: &Image{URL: u}}) }
	audio := user(Part{Audio: &Audio{"wav", []byte("wav")}})
	image := user(Part{Image: &Image{MIMEType: "image/png", Data: []byte("png")}})
	metadata := Request{Messages: []Message{Text(User, "Hi")}, Metadata: map[string]string{"a": "b"}}
	stored := map[string]json.RawMessage{"store": json.RawMessage(" true")}
	const page = "https://example.com/a.png"
	for _, tt := range []struct {
		name, hosts string
		request     Request
		extra       map[string]json.RawMessage
		want        string // part of the error, with HOST for the host; empty for no error
	}{
		{"audio", "openai compatible", audio, nil, ""},
		{"audio", "ollama lmstudio groq mistral deepseek moonshot", audio, nil, "message 1: host HOST takes no audio"},
		{"file", "openai", file, nil, "message 1: the Chat Completions API takes no files"},
		{"image", "ollama lmstudio", image, nil, ""},
		{"image", "deepseek", image, nil, "host HOST takes no images"},
		{"image by URL", "openai compatible", byURL(page), nil, ""},
		{"image by URL", "ollama lmstudio moonshot", byURL(page), nil, "host HOST takes images by their data, not by a URL"},
		{"image by URL in capitals", "moonshot", byURL("HTTPS://example.com/a.png"), nil, "by their data"},
		{"image by the name of a file", "moonshot", byURL("ms://abc"), nil, ""},
		{"image by URL", "deepseek", byURL(page), nil, "host HOST takes no images"},
		{"image in a URL", "ollama", byURL("Data:image/png;base64,cG5n"), nil, ""},
		{"metadata", "compatible openrouter", metadata, nil, ""},
		{"metadata", "openai", metadata, nil, "only for completions that it stores"},
		{"metadata", "azure", metadata, map[string]json.RawMessage{"store": json.RawMessage("false")}, "only for completions that it stores"},
		{"metadata", "openai azure", metadata, stored, ""},
		{"metadata", "ollama gemini groq", metadata, stored, "host HOST takes no metadata"},
	} {
		for _, name := range strings.Fields(tt.hosts) {
			h := newHost(t, answering(plainAnswer))
			_, err := h.client(t, local, &Options{Host: name, Extra: tt.extra}).Complete(t.Context(), &tt.request)
			if tt.want == "" {
				check.That(t, err == nil && h.Asked() == 1, "%s at %s: got %v, asked %d times, want it sent", tt.name, name, err, h.Asked())
				continue
			}
			wantCode(t, err, CodeRequest)
			check.That(t, h.Asked() == 0, "%s at %s: asked %d times, want no request", tt.name, name, h.Asked())
			check.Text(t, err, strings.ReplaceAll(tt.want, "HOST", name), tt.name)
		}
	}
}

func TestExtra(t *testing.T) {
	got := sent(t, local, &Options{Extra: map[string]json.RawMessage{"top_k": json.RawMessage(`4`), "options": json.RawMessage(`{"a":1}`)}}, hello())
	equalJSON(t, string(got["top_k"]), `4`)
	equalJSON(t, string(got["options"]), `{"a":1}`)
}

// If a host refuses a name, it gets another one, and the original comes back.
func TestNames(t *testing.T) {
	long := strings.Repeat("x", 128)
	tools := []Tool{{Name: "files.read"}, {Name: "files_read"}, {Name: "files/read"}, {Name: long}, {Name: long[:127] + "y"}, {Name: "größe"}, {Name: "21st"}, {Name: "_21st"}, {Name: "1" + long[1:]}}
	r := &Request{Tools: tools}
	n := newNames(r)
	seen := map[string]bool{}
	for _, tool := range tools {
		out := n.outgoing(tool.Name)
		check.That(t, plainName.MatchString(out) && !seen[out], "%q goes out as %q, want a plain name that no other has", tool.Name, out)
		seen[out] = true
		check.Equal(t, "comes back", n.incoming(out), tool.Name)
	}
	check.Equal(t, "a good name", n.outgoing("files_read"), "files_read")
	check.Same(t, "names differ between requests (-first +second)", newNames(r).out, n.out)
	check.Equal(t, "the name as it came", n.incoming("never offered"), "never offered")
}

func TestNamesComeBack(t *testing.T) {
	r := hello()
	r.Tools = []Tool{{Name: "files.read"}}
	out := newNames(r).outgoing("files.read")
	h := newHost(t, answering(`{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"`+out+`"}}]}}]}`))
	got := check.Value(h.client(t, openAI, nil).Complete(t.Context(), r))(t)
	check.Same(t, "calls", got.ToolCalls, []ToolCall{{ID: "a", Name: "files.read", Arguments: "{}"}})
}

func TestIDs(t *testing.T) {
	for _, tt := range []struct {
		rule    idFormat
		id      string
		changed bool
	}{
		{anyID, "functions.f:0", false}, {anyID, strings.Repeat("x", 257), true}, {plainID, "call_abc-1", false},
		{plainID, "functions.f:0", true}, {plainID, strings.Repeat("x", 41), true}, {shortID, "abcDEF123", false},
		{shortID, "call_abc1", true}, {shortID, "abc", true},
	} {
		got := newIDs(tt.rule).outgoing(tt.id)
		check.That(t, (got != tt.id) == tt.changed && tt.rule.allows(got), "rule %d: %q goes out as %q", tt.rule, tt.id, got)
		check.Equal(t, tt.id, newIDs(tt.rule).outgoing(tt.id), got)
	}
	s := newIDs(shortID)
	taken := s.outgoing("x")
	got := s.outgoing(taken)
	check.That(t, got != taken, "two calls share the id %q", got)
}

// A caller that keeps a call's Extra does not need the client's memory.
func TestExtraOfTheCaller(t *testing.T) {
	carried := func(url, extra string) string {
		got := sent(t, url, nil, &Request{Model: "m", Messages: []Message{{Role: Assistant, ToolCalls: []ToolCall{
			{ID: "a", Name: "f", Extra: json.RawMessage(extra)},
		}}}})
		return string(got["messages"])
	}
	const sig = `{"google":{"thought_signature":"sig"}}`
	const plain = `[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}]`
	equalJSON(t, carried(gemini, sig), `[{"role":"assistant","tool_calls":[
		{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":`+sig+`}]}]`)
	equalJSON(t, carried(openAI, sig), plain)
	for _, bad := range []string{`"text"`, `[1]`, `{`, `{"x":"` + strings.Repeat("x", maxHostData) + `"}`} {
		equalJSON(t, carried(gemini, bad), plain)
	}
}
