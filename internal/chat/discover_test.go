package chat

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
)

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
