package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/evals/llama/tiny"
	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// server is a model server.
type server struct {
	root, base string // without and with /v1
	model      string
	kind       string // as Options.Host of package openaimodel
	version    string
	has        map[fact]bool
	transport  *http.Transport
}

// fact is what not every server offers.
type fact string

const (
	grammar   fact = "grammar of calls"
	formats   fact = "schemas of texts"
	thoughts  fact = "thoughts apart from the text"
	refusals  fact = "refusals of long prompts"
	responses fact = "/v1/responses"
)

func facts() []fact { return []fact{grammar, formats, thoughts, refusals, responses} }

// find asks a server, over a transport, what it is and what it offers.
func find(ctx context.Context, transport *http.Transport, address, model string) (*server, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not the URL of a server, such as http://127.0.0.1:8080", excerpt.Cut(address))
	}
	s := &server{root: strings.TrimSuffix(strings.TrimSuffix(address, "/"), "/v1"), model: model, kind: "compatible", has: map[fact]bool{}, transport: transport}
	s.base = s.root + "/v1"
	status, list, err := s.ask(ctx, "/v1/models", nil)
	if err != nil || at(list, "data", 0, "id") == "" {
		return nil, errors.Join(fmt.Errorf("%s/models has no model (HTTP %d)", s.base, status), err)
	}
	if s.model == "" {
		s.model = at(list, "data", 0, "id")
	}
	if at(list, "data", 0, "owned_by") == "llamacpp" {
		_, props, wrong := s.ask(ctx, "/props", nil)
		s.kind, s.version, err = "llamacpp", at(props, "build_info"), wrong
	} else if status, v, _ := s.ask(ctx, "/api/version", nil); status == http.StatusOK {
		s.kind, s.version = "ollama", at(v, "version")
	}
	return s, errors.Join(err, s.probe(ctx))
}

// probe checks that the server has the model, and asks for each fact.
func (s *server) probe(ctx context.Context) error {
	const chat, schema = "/v1/chat/completions", `{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"],"additionalProperties":false}`
	chatOf := func(text, more string) string {
		return fmt.Sprintf(`{"model":%q,"max_tokens":200,"messages":[{"role":"user","content":%q}]%s}`, s.model, text, more)
	}
	tool := func(name string) string {
		return fmt.Sprintf(`,"tools":[{"type":"function","function":{"name":%q,"description":"A probe.","parameters":%s}}]`, name, schema)
	}
	status, answer, err := s.ask(ctx, chat, json.RawMessage(chatOf("Hi", "")))
	if text := at(answer, "choices", 0, "message", "content"); err != nil || text != tiny.Greeting {
		return errors.Join(fmt.Errorf("model %q says %q (HTTP %d), want %q: serve the file that go run ./evals/llama FILE writes", s.model, text, status, tiny.Greeting), err)
	}
	var failed []error
	for _, probe := range []struct {
		fact       fact
		path, body string
		holds      func(status int, message any) bool
	}{
		{grammar, chat, chatOf("Hi", `,"tool_choice":"required"`+tool("probe")), func(_ int, message any) bool {
			return at(message, "tool_calls", 0, "function", "name") == "probe"
		}},
		{formats, chat, chatOf("Hi", `,"response_format":{"type":"json_schema","json_schema":{"name":"probe","schema":`+schema+`}}`), func(_ int, message any) bool {
			return strings.HasPrefix(at(message, "content"), "{")
		}},
		{thoughts, chat, chatOf(tiny.Think, tool(tiny.Weather)), func(_ int, message any) bool {
			return at(message, "reasoning_content")+at(message, "reasoning") != ""
		}},
		{refusals, chat, chatOf(tooLong(), ""), func(status int, _ any) bool { return status != http.StatusOK }},
		{responses, "/v1/responses", fmt.Sprintf(`{"model":%q,"input":"Hi"}`, s.model), func(status int, _ any) bool { return status == http.StatusOK }},
	} {
		status, answer, err := s.ask(ctx, probe.path, json.RawMessage(probe.body))
		s.has[probe.fact] = probe.holds(status, element(answer, "choices", 0, "message"))
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// tooLong returns a text of four windows.
func tooLong() string { return strings.Repeat("long ", 4*tiny.Window/5) }

// maxAnswer bounds the answer to ask.
const maxAnswer = 4 << 20

// ask gets a page, or posts a body if there is one. The answer is the JSON of a page with status 200.
func (s *server) ask(ctx context.Context, path string, body any) (status int, answer any, err error) {
	method, content := http.MethodGet, []byte(nil)
	if body != nil {
		method = http.MethodPost
		if content, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, s.root+path, bytes.NewReader(content))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: s.transport}).Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err == nil && resp.StatusCode == http.StatusOK {
		err = json.Unmarshal(data, &answer)
	}
	return resp.StatusCode, answer, err
}

// element returns a part of a JSON value by its keys and indexes, nil if there is none.
func element(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := v.(map[string]any)
			v = object[step]
		case int:
			list, _ := v.([]any)
			if v = nil; step < len(list) {
				v = list[step]
			}
		}
	}
	return v
}

// at returns a string that is a part of a JSON value, "" if there is none.
func at(v any, path ...any) string {
	text, _ := element(v, path...).(string)
	return text
}

func (s *server) String() string {
	var yes, no []string
	for _, f := range facts() {
		if s.has[f] {
			yes = append(yes, string(f))
		} else {
			no = append(no, string(f))
		}
	}
	return fmt.Sprintf("%s %s at %s, model %s; offered: %s; not offered: %s", s.kind, s.version, s.base, s.model, strings.Join(yes, ", "), strings.Join(no, ", "))
}

// wire carries requests to a server. It counts connections and keeps the latest request.
type wire struct {
	transport *http.Transport

	mu    sync.Mutex
	dials int
	last  []byte
}

// newWire returns a wire with connections of its own, which are dialed as those of base.
func newWire(base *http.Transport) *wire {
	w := &wire{transport: base.Clone()}
	w.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		w.mu.Lock()
		w.dials++
		w.mu.Unlock()
		return base.DialContext(ctx, network, address)
	}
	return w
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.last = body
	w.mu.Unlock()
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return w.transport.RoundTrip(r)
}

// oneCheck is a check by its name. It is skipped at a server without what it needs.
type oneCheck struct {
	name  string
	needs fact
	run   func(context.Context, *trial) error
}

// patience bounds a check.
const patience = 5 * time.Minute

// run runs one check, and returns what a person wants to know about it.
func (s *server) run(ctx context.Context, c oneCheck) (note string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	t := &trial{server: s, wire: newWire(s.transport)}
	defer t.wire.transport.CloseIdleConnections()
	if err := t.open(""); err != nil {
		return "", err
	}
	err = c.run(ctx, t)
	return t.note, err
}

// offers reports whether the server has what a check needs.
func (s *server) offers(c oneCheck) bool { return c.needs == "" || s.has[c.needs] }

// trial is a check under way, with a model of its own.
type trial struct {
	*server
	wire *wire
	llm  *openaimodel.Model
	note string // what a person wants to know about a check that passes

	mu      sync.Mutex
	retries []error // the failures that were tried again
}

// open makes a model at the server, for one of its APIs; "" is its usual one.
func (t *trial) open(api string) (err error) {
	t.llm, err = openaimodel.New(t.config(), t.model, &openaimodel.Options{Host: t.kind, API: api, Retrying: func(err error, _ time.Duration) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.retries = append(t.retries, err)
	}})
	return err
}

func (t *trial) config() openai.ClientConfig {
	cfg := openai.DefaultConfig("none")
	cfg.BaseURL, cfg.HTTPClient = t.base, &http.Client{Transport: t.wire}
	return cfg
}

// retried is an error if a failure was tried again.
func (t *trial) retried() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.retries) == 0 {
		return nil
	}
	return fmt.Errorf("%d failures were tried again, such as: %w", len(t.retries), t.retries[0])
}

// want is an error if a value differs from the wanted one.
func want[T comparable](what string, got, want T) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("%s: got %v, want %v", what, got, want)
}
