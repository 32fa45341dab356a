package chat

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/fakehost"
)

const testKey = "sk-test-0123456789abcdef"

// host is a server that records its requests.
type host struct{ *fakehost.Prepared }

func newHost(t testing.TB, h http.HandlerFunc) *host { return &host{fakehost.Prepare(t, h)} }

// client makes a client of the host under a base URL of any name.
func (s *host) client(t testing.TB, baseURL string, opts *Options) *Client {
	t.Helper()
	return newClient(t, baseURL, s.Client(), opts)
}

func newClient(t testing.TB, baseURL string, doer openai.HTTPDoer, opts *Options) *Client {
	t.Helper()
	cfg := openai.DefaultConfig(testKey)
	cfg.BaseURL, cfg.HTTPClient = baseURL, doer
	return check.Value(New(cfg, opts))(t)
}

var (
	answering = fakehost.Answering
	streaming = fakehost.Streaming
	equalJSON = fakehost.EqualJSON
)

func failing(status int, header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if key, value, ok := strings.Cut(header, ": "); ok {
			w.Header().Set(key, value)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// refusing is a host that refuses requests with some texts, each with a message.
func refusing(t testing.TB, otherwise http.HandlerFunc, messages map[string]string) (h *host) {
	h = newHost(t, func(w http.ResponseWriter, r *http.Request) {
		for text, message := range messages {
			if strings.Contains(h.Last(), text) {
				failing(400, "", `{"error":{"message":"`+message+`"}}`)(w, r)
				return
			}
		}
		otherwise(w, r)
	})
	return h
}

const plainAnswer = `{"id":"1","model":"m-2026","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},` +
	`"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`

func hello() *Request { return &Request{Model: "m", Messages: []Message{Text(User, "Hi")}} }

// sameReply compares replies, with random ids of ours as ID, without sizes and endpoints.
func sameReply(t *testing.T, got, want *Reply) {
	t.Helper()
	got.Size, got.Endpoint = 0, ""
	for i := range got.ToolCalls {
		if strings.HasPrefix(got.ToolCalls[i].ID, "call_") {
			got.ToolCalls[i].ID = "ID"
		}
	}
	check.Same(t, "reply", got, want)
}

// inTurn is a host with an answer for each request. The last one is repeated.
func inTurn(handlers ...http.HandlerFunc) http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) { handlers[min(int(n.Add(1)), len(handlers))-1](w, r) }
}
