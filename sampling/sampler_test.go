package sampling

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/fakehost"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

const testKey = "sk-test-0123456789abcdef"

// host is a model's host that records its requests.
type host struct{ *fakehost.Prepared }

func newHost(t testing.TB, h http.HandlerFunc) *host { return &host{fakehost.Prepare(t, h)} }

func (s *host) sampler(t testing.TB, opts *Options) *Sampler {
	t.Helper()
	cfg := openai.DefaultConfig(testKey)
	cfg.HTTPClient = s.Client()
	return check.Value(New(cfg, "gpt-4.1", opts))(t)
}

// wantAsked checks how many requests have reached the host.
func (s *host) wantAsked(t testing.TB, want int) {
	t.Helper()
	check.Equal(t, "requests to the model", s.Asked(), want)
}

// answered returns the answer to a request, which must not fail.
func answered(t testing.TB, h mcp.SamplingHandler, params string) *mcp.CreateMessageResult {
	t.Helper()
	return check.Value(h.CreateMessage(t.Context(), question(t, params)))(t)
}

// ask sends a request, and returns its error.
func ask(t testing.TB, h mcp.SamplingHandler, params string) error {
	t.Helper()
	return check.Err(h.CreateMessage(t.Context(), question(t, params)))
}

// noReview is a reviewer that must not be asked.
func noReview(t testing.TB) *Review {
	return &Review{Request: func(context.Context, *Request) error { t.Error("the reviewer was asked"); return nil }}
}

// asJSON is JSON of a value.
func asJSON(v any) string { return string(encodeJSON(v)) }

var (
	answering = fakehost.Answering
	equalJSON = fakehost.EqualJSON
)

const plainAnswer = `{"model":"gpt-4.1-2025-04-14","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}`

// brokenOff is a host whose reply ends too early.
func brokenOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	io.WriteString(w, plainAnswer)
}

// slowly is a host that answers after a while.
func slowly(d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { time.Sleep(d); answering(plainAnswer)(w, r) }
}

// question reads params like a server's request.
func question(t testing.TB, raw string) *mcp.CreateMessageParams {
	t.Helper()
	p := new(mcp.CreateMessageParams)
	check.Must(t, json.Unmarshal([]byte(raw), p))
	return p
}

const hi = `{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"maxTokens":100}`

var _ mcp.SamplingHandler = (*Sampler)(nil)

func TestCreateMessage(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	equalJSON(t, asJSON(answered(t, h.sampler(t, nil), hi)),
		`{"role":"assistant","content":{"type":"text","text":"Hello"},"model":"gpt-4.1-2025-04-14","stopReason":"endTurn"}`)
	equalJSON(t, h.Last(), `{"model":"gpt-4.1","messages":[{"role":"user","content":"Hi"}],"max_completion_tokens":100,"stream":false}`)
	check.Equal(t, "", h.sampler(t, nil).SamplingCapability(), mcp.SamplingCapability{Tools: true})
}

// An invalid request costs nothing: no review, no place in the limits, no completion.
func TestInvalidRequests(t *testing.T) {
	user := func(block string) string {
		return `{"maxTokens":9,"messages":[{"role":"user","content":` + block + `}]}`
	}
	use := `{"role":"assistant","content":{"type":"tool_use","id":"a","name":"f","input":{}}}`
	tests := []struct{ name, params, want string }{
		{"negative maxTokens", `{"maxTokens":-1,"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}]}`, "maxTokens"},
		{"negative temperature", `{"maxTokens":9,"temperature":-1,"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}]}`, "temperature"},
		{"many stop sequences", `{"maxTokens":9,"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"stopSequences":["x"` + strings.Repeat(`,"x"`, 64) + `]}`, "65, at most 64"},
		{"a long stop sequence", `{"maxTokens":9,"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"stopSequences":["` + strings.Repeat("x", 257) + `"]}`, "257 bytes"},
		{"odd role", `{"maxTokens":9,"messages":[{"role":"system","content":{"type":"text","text":"Hi"}}]}`, `role "system"`},
		{"missing result", `{"maxTokens":9,"messages":[` + use + `]}`, "no result"},
		{"unknown result", user(`{"type":"tool_result","toolUseId":"x","content":[]}`), "no tool use"},
		{"mixed results", `{"maxTokens":9,"messages":[` + use + `,{"role":"user","content":[{"type":"tool_result","toolUseId":"a","content":[]},{"type":"text","text":"x"}]}]}`, "mixed"},
		{"odd image", user(`{"type":"image","data":"AAAA","mimeType":"image/svg+xml"}`), "image/svg+xml"},
		{"empty image", user(`{"type":"image","data":"","mimeType":"image/png"}`), "without data"},
		{"bad base64", user(`{"type":"image","data":"%%","mimeType":"image/png"}`), "malformed"},
		{"odd audio", user(`{"type":"audio","data":"AAAA","mimeType":"audio/ogg"}`), "audio/ogg"},
		{"unknown block", user(`{"type":"hologram"}`), "hologram"},
		{"resource", user(`{"type":"resource","resource":{"uri":"a:b","text":"x"}}`), "does not belong"},
		{"two tools of a name", `{"maxTokens":9,"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"tools":[{"name":"f","inputSchema":{}},{"name":"f","inputSchema":{}}]}`, `named "f"`},
		{"tool without name", `{"maxTokens":9,"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"tools":[{"name":"","inputSchema":{}}]}`, "no name"},
		{"schema is a text", `{"maxTokens":9,"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"tools":[{"name":"f","inputSchema":"x"}]}`, "schema"},
		{"required without tools", `{"maxTokens":9,"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"toolChoice":{"mode":"required"}}`, "without tools"},
		{"odd choice", `{"maxTokens":9,"messages":[{"role":"user","content":{"type":"text","text":"Hi"}}],"toolChoice":{"mode":"maybe"}}`, `"maybe"`},
	}
	h := newHost(t, answering(plainAnswer))
	s := h.sampler(t, &Options{Limits: Limits{Total: Budget{Requests: 1}}, Review: noReview(t)})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check.Contains(t, "", wantCode(t, ask(t, s, tt.params), mcp.CodeInvalidParams).Message, tt.want)
		})
	}
	h.wantAsked(t, 0)
	s.options.Review = nil
	check.NoError(t, ask(t, s, hi), "the one request of the limit was gone")
}

// A reviewer can put more into a request than a server's JSON can.
func TestCheckBlock(t *testing.T) {
	for _, c := range []mcp.Content{
		&mcp.ToolUseContent{ID: "a", Name: "f", Input: json.RawMessage(`[]`)}, &mcp.ResourceLink{}, struct{ *mcp.TextContent }{new(mcp.TextContent)},
	} {
		check.Text(t, checkBlock(c), "", c)
	}
}
