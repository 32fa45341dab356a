package chat

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/fakehost"
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
	c, err := New(cfg, opts)
	check(t, err)
	return c
}

func (s *host) asked() int { return len(s.Requests()) }

// last is the latest request.
func (s *host) last() string { return s.Requests()[s.asked()-1] }

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

const plainAnswer = `{"id":"1","model":"m-2026","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},` +
	`"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`

func hello() *Request {
	return &Request{Model: "m", Messages: []Message{Text(User, "Hi")}}
}

// check ends the test at an error.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func errorOf[T any](_ T, err error) error { return err }
