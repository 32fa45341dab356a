package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
)

func TestDetect(t *testing.T) {
	for _, tt := range []struct{ url, want string }{
		{"https://api.openai.com/v1", "openai"}, {"https://eu.api.openai.com/v1", "openai"}, {"https://API.OpenAI.com/v1", "openai"},
		{"https://api.openai.com.evil.example/v1", "compatible"}, {"https://x.openai.azure.com/openai/v1", "azure"},
		{"https://x.services.ai.azure.com/openai/v1", "azure"}, {"https://openrouter.ai/api/v1", "openrouter"},
		{"https://api.groq.com/openai/v1", "groq"}, {"https://api.together.xyz/v1", "together"},
		{"https://generativelanguage.googleapis.com/v1beta/openai", "gemini"},
		{"https://europe-west1-aiplatform.googleapis.com/v1", "compatible"}, {"https://aiplatform.googleapis.com/v1", "gemini"},
		{"https://api.mistral.ai/v1", "mistral"}, {"https://api.deepseek.com", "deepseek"}, {"https://api.moonshot.cn/v1", "moonshot"},
		{"http://localhost:11434/v1", "ollama"}, {"http://gpu-box:11434/v1", "ollama"}, {"http://127.0.0.1:1234/v1", "lmstudio"},
		{"http://gpu-box:1234/v1", "compatible"}, {"http://[::1]:8080/v1", "compatible"}, {"https://llm.example/v1", "compatible"},
	} {
		cfg := openai.DefaultConfig(testKey)
		cfg.BaseURL = tt.url
		got, err := detect(&cfg)
		check.That(t, got == tt.want && err == nil, "%s: got %q, %v, want %q", tt.url, got, err, tt.want)
	}
	azure := openai.DefaultAzureConfig(testKey, "https://proxy.example")
	check.Equal(t, "API type Azure", check.Value(detect(&azure))(t), "azure")
}

// If a host has models of other vendors, tools are written in the dialect of the model's vendor.
func TestSchemas(t *testing.T) {
	for _, tt := range []struct {
		host, model string
		want        profile.Profile
	}{
		{"openai", "gpt-5", profile.OpenAI},
		{"openai", "claude-like", profile.OpenAI},
		{"ollama", "qwen3", profile.LlamaCpp},
		{"gemini", "models/any", profile.Gemini},
		{"openrouter", "openai/gpt-5", profile.OpenAI},
		{"openrouter", "anthropic/claude-sonnet-4.5", profile.Anthropic},
		{"openrouter", "google/Gemini-2.5-pro", profile.Gemini},
		{"openrouter", "moonshotai/kimi-k2", profile.Gemini},
		{"moonshot", "kimi-k3", profile.Gemini},
		{"compatible", "claude-sonnet-4-5", profile.Anthropic},
		{"compatible", "llama", profile.OpenAI},
	} {
		c := check.Value(New(openai.DefaultConfig(testKey), &Options{Host: tt.host}))(t)
		check.Equal(t, tt.model+" at "+tt.host, c.Schemas(tt.model), tt.want)
	}
}

func TestTakesFormats(t *testing.T) {
	for _, tt := range []struct {
		host, model string
		want, tools bool // with tools, too
	}{
		{"openai", "gpt-4.1", true, true}, {"openai", "GPT-5-mini", true, true}, {"openai", "o3", true, true},
		{"openai", "gpt-4-turbo", false, false}, {"openai", "gpt-3.5-turbo", false, false},
		{"openai", "gpt-4o-2024-05-13", false, false}, {"openai", "o1-mini", false, false},
		{"azure", "gpt-4o", true, true}, {"azure", "our-deployment", false, false},
		{"compatible", "gpt-4.1", false, false},
		{"deepseek", "m", false, false}, {"moonshot", "m", false, false},
		{"ollama", "m", true, false}, {"vllm", "m", true, false}, {"llamacpp", "m", true, false}, {"lmstudio", "m", true, false}, {"openrouter", "m", true, false},
		{"groq", "m", true, false}, {"together", "m", true, false}, {"gemini", "m", true, false}, {"mistral", "m", true, false},
	} {
		c := check.Value(New(openai.DefaultConfig(testKey), &Options{Host: tt.host}))(t)
		got, tools := c.TakesFormats(tt.model, false), c.TakesFormats(tt.model, true)
		check.That(t, got == tt.want && tools == tt.tools, "%s at %s: got %t, with tools %t, want %t, %t", tt.model, tt.host, got, tools, tt.want, tt.tools)
	}
}

func TestNewErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*openai.ClientConfig)
		opts *Options
		want string
	}{
		{"no scheme", func(c *openai.ClientConfig) { c.BaseURL = "api.openai.com/v1" }, nil, `"api.openai.com/v1": want http://host/path or https`},
		{"other scheme", func(c *openai.ClientConfig) { c.BaseURL = "ftp://u:" + testKey + "@x/v1?key=" + testKey }, nil, "want http://host/path"},
		{"malformed", func(c *openai.ClientConfig) { c.BaseURL = "https://u:" + testKey + "@x:port/v1" }, nil, "malformed: want http://host/path or https"},
		{"Anthropic", func(c *openai.ClientConfig) { c.APIType = openai.APITypeAnthropic }, nil, "ANTHROPIC"},
		{"old Azure", func(c *openai.ClientConfig) { *c = openai.DefaultAzureConfig(testKey, "https://x.openai.azure.com") }, nil, "2023-05-15"},
		{"host", nil, &Options{Host: "acme"}, "one of compatible, openai"},
		{"extra that is ours", nil, &Options{Extra: map[string]json.RawMessage{"messages": json.RawMessage(`[]`)}}, `"messages"`},
		{"extra that is ours at Responses", nil, &Options{Extra: map[string]json.RawMessage{"input": json.RawMessage(`[]`)}}, `"input"`},
		{"extra that is no JSON", nil, &Options{Extra: map[string]json.RawMessage{"top_k": json.RawMessage(`{`)}}, `"top_k"`},
	} {
		cfg := openai.DefaultConfig(testKey)
		if tt.edit != nil {
			tt.edit(&cfg)
		}
		_, err := New(cfg, tt.opts)
		check.That(t, err != nil && strings.Contains(err.Error(), tt.want) && !strings.Contains(err.Error(), testKey), "%s: got %v, want an error with %q, without the key", tt.name, err, tt.want)
	}
}

// withTools is a request with n tools.
func withTools(n int) *Request {
	r := hello()
	for i := range n {
		r.Tools = append(r.Tools, Tool{Name: fmt.Sprint("t", i)})
	}
	return r
}

// A host that makes grammars of schemas refuses all tools for one of them. The error names that one.
func TestRefusedGrammar(t *testing.T) {
	for _, tt := range []struct {
		name       string
		tools, bad int // bad: the number of the tool, -1 for none
		status     int // of the refusal
		most       int // requests
		want       string
		message    string // of the refusal, if it is a special one
	}{
		{"the first of ten", 10, 0, 400, 5, `the tool "t0"`, ""},
		{"the last of ten", 10, 9, 400, 5, `the tool "t9"`, ""},
		{"the only one", 1, 0, 400, 1, `the tool "t0"`, ""},
		{"a reference that llama.cpp cannot follow", 10, 3, 400, 5, `the tool "t3"`, `JSON schema conversion failed:\nUnsupported ref: #`},
		{"of a hundred and twenty-eight", 128, 77, 500, 11, `the tool "t77"`, ""},
	} {
		var h *host
		h = newHost(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(h.Last(), fmt.Sprintf(`"name":"t%d"`, tt.bad)) {
				failing(tt.status, "", `{"error":{"code":400,"message":"`+cmp.Or(tt.message, "Failed to initialize samplers: failed to parse grammar")+`"}}`)(w, r)
				return
			}
			answering(plainAnswer)(w, r)
		})
		_, err := h.client(t, local, &Options{Retries: -1}).Complete(t.Context(), withTools(tt.tools))
		check.That(t, err != nil && strings.Contains(err.Error(), tt.want) && h.Asked() <= tt.most,
			"%s: got %v after %d requests, want %s after %d at most", tt.name, err, h.Asked(), tt.want, tt.most)
	}
}

// The search for the tool ends at a host that does not answer.
func TestRefusedGrammarEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		h := newHost(t, func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked > 1 {
				<-r.Context().Done()
			}
			failing(400, "", `{"error":{"code":400,"message":"failed to parse grammar"}}`)(w, r)
		})
		defer h.Close()
		start := time.Now()
		_, err := h.client(t, local, &Options{Retries: -1}).Complete(t.Context(), withTools(128))
		took := time.Since(start)
		check.That(t, err != nil && took <= searchTime, "got %v after %v, want the failure after at most %v", err, took, searchTime)
	})
}

// TestDiscover has what hosts tell of themselves and of their models.
func TestDiscover(t *testing.T) {
	for name, tt := range map[string]struct {
		base, server string
		answers      map[string]string
		host         string
		window       int64
	}{
		"llama-server":    {"http://h:8000/v1", "", map[string]string{"/v1/models": `{"data":[{"id":"/m.gguf","owned_by":"llamacpp","meta":{"n_ctx":8192}}]}`}, "llamacpp", 8192},
		"with a query":    {"http://h:8000/v1?k=v", "", map[string]string{"/v1/models": `{"data":[{"id":"m","max_model_len":8192}]}`}, "", 8192},
		"by header":       {"http://h:8000/v1", "llama.cpp", map[string]string{"/v1/models": "{}"}, "llamacpp", 0},
		"vLLM":            {"http://h:8000/v1", "", map[string]string{"/v1/models": `{"data":[{"id":"x"},{"id":"m","owned_by":"vllm","max_model_len":32768}]}`}, "vllm", 32768},
		"OpenRouter":      {"https://openrouter.ai/api/v1", "", map[string]string{"/api/v1/models": `{"data":[{"id":"m","context_length":1e6},{"id":"o"}]}`}, "", 1_000_000},
		"Together":        {"https://api.together.xyz/v1", "", map[string]string{"/v1/models": `[{"id":"m","context_length":131072},{"id":"o"}]`}, "", 131072},
		"other models":    {"http://h/v1", "", map[string]string{"/v1/models": `{"data":[{"id":"a","context_length":5},{"id":"b"}]}`}, "", 0},
		"absurd":          {"http://h/v1", "", map[string]string{"/v1/models": `{"data":[{"id":"m","context_length":-5,"max_model_len":1e30}]}`}, "", 0},
		"Ollama, loaded":  {"http://h:11434/v1", "", map[string]string{"/api/ps": `{"models":[{"name":"m:latest","context_length":4096}]}`}, "ollama", 4096},
		"Ollama, set":     {"http://h:11434/v1", "", map[string]string{"/api/ps": `{"models":[]}`, "/api/show": `{"parameters":"stop x\nnum_ctx    16384"}`}, "ollama", 16384},
		"LM Studio":       {"http://127.0.0.1:1234/v1", "", map[string]string{"/api/v0/models": `{"data":[{"id":"m","max_context_length":131072,"loaded_context_length":4096},{"id":"o"}]}`}, "lmstudio", 4096},
		"LM Studio, idle": {"http://127.0.0.1:1234/v1", "", map[string]string{"/api/v0/models": `{"data":[{"id":"m","max_context_length":131072}]}`}, "", 0},
		"Ollama, silent":  {"http://h:11434/v1", "", nil, "ollama", 0},
		"not JSON":        {"http://h/v1", "", map[string]string{"/v1/models": "<html>"}, "", 0},
		"deep":            {"http://h/v1", "", map[string]string{"/v1/models": `{"data":` + strings.Repeat("[", 1<<20)}, "", 0},
	} {
		server := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer, ok := tt.answers[r.URL.Path]
			if r.Header.Get("Authorization") != "Bearer "+testKey || !ok || strings.HasPrefix(name, "with") && r.URL.RawQuery != "k=v" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Server", tt.server)
			io.WriteString(w, answer)
		}))
		cfg := openai.DefaultConfig(testKey)
		cfg.BaseURL, cfg.HTTPClient = tt.base, server.Client()
		host, window := Discover(t.Context(), cfg, "m")
		server.Close()
		check.That(t, host == tt.host && window == tt.window, "%s: got %q and %d, want %q and %d", name, host, window, tt.host, tt.window)
	}
}

// TestDiscoverEnds waits 5 s for a host that does not answer.
func TestDiscoverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		defer server.Close()
		cfg := openai.DefaultConfig(testKey)
		cfg.BaseURL, cfg.HTTPClient = "http://h/v1", server.Client()
		host, window := Discover(t.Context(), cfg, "m")
		check.Equal(t, "", fmt.Sprint(host, window), "0")
	})
}
