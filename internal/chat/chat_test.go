package chat

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/memhttp"
)

const testKey = "sk-test-0123456789abcdef"

// host is a server that records its requests.
type host struct {
	*memhttp.Server
	mu       sync.Mutex
	requests []string
}

func newHost(t testing.TB, h http.HandlerFunc) *host {
	t.Helper()
	s := &host{}
	s.Server = memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read request: %v", err)
		}
		s.mu.Lock()
		s.requests = append(s.requests, string(body))
		s.mu.Unlock()
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// client makes a client of the host under a base URL of any name.
func (s *host) client(t testing.TB, baseURL string, opts *Options) *Client {
	t.Helper()
	cfg := openai.DefaultConfig(testKey)
	cfg.BaseURL, cfg.HTTPClient = baseURL, s.Client()
	c, err := New(cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *host) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// last is the latest request.
func (s *host) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[len(s.requests)-1]
}

// answering answers every request with a body.
func answering(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, body)
	}
}

// streaming answers every request with a stream of these lines, each followed
// by a blank one.
func streaming(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, line := range lines {
			io.WriteString(w, line+"\n\n")
		}
	}
}

func failing(status int, header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if key, value, ok := strings.Cut(header, ": "); ok {
			w.Header().Set(key, value)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

const plainAnswer = `{"id":"1","model":"m-2026","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},` +
	`"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`

func hello() *Request {
	return &Request{Model: "m", Messages: []Message{Text(User, "Hi")}}
}

// equalJSON compares JSON by its meaning.
func equalJSON(t testing.TB, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("got no JSON: %v: %s", err, got)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("want no JSON: %v: %s", err, want)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}
