package sampling

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestRequestMapping(t *testing.T) {
	var tests []struct {
		Name         string
		Params, Want json.RawMessage
	}
	data, err := os.ReadFile("testdata/requests.json")
	if err == nil {
		err = json.Unmarshal(data, &tests)
	}
	check.Must(t, err)
	for _, tt := range tests {
		t.Run(tt.Name, func(t *testing.T) {
			h := newHost(t, answering(plainAnswer, `{"choices":[{"message":{"content":"x"},"finish_reason":"length"}]}`))
			p := question(t, string(tt.Params))
			before := asJSON(p)
			check.Must(t, check.Err(h.sampler(t, nil).CreateMessage(t.Context(), p)))
			equalJSON(t, h.Last(), string(tt.Want))
			equalJSON(t, asJSON(p), before)
		})
	}
}

// What a host reads of a resource counts.
func TestSizeOfResources(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, c := range []mcp.Content{
		&mcp.ResourceLink{Resource: mcp.Resource{URI: "a:b", Name: "b", MIMEType: long}},
		&mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: "a:b", MIMEType: long, Blob: []byte("x")}},
		&mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: "a:b", Text: strings.Repeat("`", len(long)/2)}},
	} {
		read, counted := len(blockText(c)), newNeeds(&mcp.CreateMessageParams{Messages: []mcp.SamplingMessage{{Content: []mcp.Content{c}}}}).size()
		check.That(t, counted+64 >= read, "%T: %d bytes count as %d", c, read, counted)
	}
}

func TestMetadata(t *testing.T) {
	long, many := strings.Repeat("x", 513), make([]string, 20)
	all := map[string]int{}
	for i := range many {
		many[i] = strings.Repeat("k", i+1)
		all[many[i]] = i
	}
	for _, tt := range []struct {
		name, metadata string
		allowed        []string
		want           map[string]string
	}{
		{"nothing allowed", `{"user":"x"}`, nil, nil},
		{"allowed", `{"user":"x","model":"y"}`, []string{"user"}, map[string]string{"user": "x"}},
		{"plain values", `{"a":1.50,"b":true,"c":"\u00e4"}`, []string{"a", "b", "c"}, map[string]string{"a": "1.50", "b": "true", "c": "ä"}},
		{"other values", `{"a":[1],"b":{},"c":null}`, []string{"a", "b", "c", "d"}, map[string]string{}},
		{"too long", `{"a":"` + long + `","b":"` + long[1:] + `"}`, []string{"a", "b"}, map[string]string{"b": long[1:]}},
		{"no object", `[1]`, []string{"a"}, nil},
	} {
		check.Same(t, tt.name, metadata(json.RawMessage(tt.metadata), tt.allowed), tt.want)
	}
	check.Equal(t, "keys", len(metadata(encodeJSON(all), many)), maxMetadata)
}

// Gemini's extra data of a call comes back to it through the server, even if another process made the call.
func TestHostExtraTravelsWithTheServer(t *testing.T) {
	const made = `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s<g"}}}]}}]}`
	asking := `{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":9,"tools":[{"name":"f"}]}`
	got := answered(t, newHost(t, answering(made)).sampler(t, &Options{Host: "gemini"}), asking)
	use := got.Content[0].(*mcp.ToolUseContent)
	equalJSON(t, string(use.Meta), `{"io.github.mcpchain/host-extra":{"google":{"thought_signature":"s<g"}}}`)

	p := question(t, asking)
	p.Messages = append(p.Messages, mcp.SamplingMessage{Role: "assistant", Content: got.Content},
		mcp.SamplingMessage{Role: "user", Content: []mcp.Content{&mcp.ToolResultContent{ToolUseID: use.ID}}})
	other := newHost(t, answering(plainAnswer))
	check.Must(t, check.Err(other.sampler(t, &Options{Host: "gemini"}).CreateMessage(t.Context(), p)))
	var sent struct{ Messages []json.RawMessage }
	check.Must(t, json.Unmarshal([]byte(other.Last()), &sent))
	equalJSON(t, string(sent.Messages[1]), `{"role":"assistant","tool_calls":[{"id":"a","type":"function",
		"function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s<g"}}}]}`)
}

// New refuses metadata that the host would refuse.
func TestMetadataOfHosts(t *testing.T) {
	stored := map[string]json.RawMessage{"store": json.RawMessage("true")}
	for _, tt := range []struct {
		host  string
		extra map[string]json.RawMessage
		want  string // part of the error; empty for no error
	}{
		{"openai", nil, `"store": true`}, {"azure", nil, `"store": true`}, {"openai", stored, ""},
		{"ollama", stored, "host ollama takes no metadata"}, {"compatible", nil, ""},
	} {
		_, err := New(openai.DefaultConfig(testKey), "m", &Options{Host: tt.host, Extra: tt.extra, Metadata: []string{"user"}})
		check.That(t, (err == nil) == (tt.want == "") && (err == nil || strings.Contains(err.Error(), tt.want)),
			"%s with %s: got %v, want an error with %q", tt.host, tt.extra, err, tt.want)
	}
	h := newHost(t, answering(plainAnswer))
	s := h.sampler(t, &Options{Extra: stored, Metadata: []string{"user"}})
	answered(t, s, `{"maxTokens":5,"metadata":{"user":"x","store":false},"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}]}`)
	equalJSON(t, h.Last(), `{"model":"gpt-4.1","max_completion_tokens":5,"stream":false,"store":true,"metadata":{"user":"x"},"messages":[{"role":"user","content":"Hi"}]}`)
}

// A model errs at random: after an invalid call it gets a second chance.
func TestSecondChance(t *testing.T) {
	params := `{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":9,"tools":[{"name":"f","inputSchema":{}}]}`
	for _, bad := range []string{
		`{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{x"}}]}}]}`,
		`{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"[1]"}}]}}]}`,
		`{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"g","arguments":"{}"}}]}}]}`,
	} {
		h := newHost(t, answering(bad, plainAnswer))
		check.NoError(t, ask(t, h.sampler(t, nil), params), "good at the second time")
		h = newHost(t, answering(bad))
		wantCode(t, ask(t, h.sampler(t, nil), params), mcp.CodeInternalError)
		h.wantAsked(t, 2)
	}
}

func TestOnText(t *testing.T) {
	events := func(tail string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, `data: {"model":"m","choices":[{"delta":{"content":"Hel"}}]}`+"\n\n")
			io.WriteString(w, `data: {"choices":[{"delta":{"content":"lo"}}]}`+"\n\n"+tail)
		}
	}
	var pieces []string
	opts := &Options{OnText: func(_ context.Context, r *Request, piece string) { pieces = append(pieces, r.Model+":"+piece) }}
	h := newHost(t, events("data: [DONE]\n\n"))
	check.Equal(t, "Hello", answered(t, h.sampler(t, opts), hi).Content[0].(*mcp.TextContent).Text, "Hello")
	check.Same(t, "pieces", pieces, []string{"gpt-4.1:Hel", "gpt-4.1:lo"})

	h = newHost(t, events(""))
	wantCode(t, ask(t, h.sampler(t, opts), hi), mcp.CodeInternalError)
}
