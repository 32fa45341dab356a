package chat

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
)

func TestDetect(t *testing.T) {
	for _, tt := range []struct{ url, want string }{
		{"https://api.openai.com/v1", "openai"},
		{"https://eu.api.openai.com/v1", "openai"},
		{"https://API.OpenAI.com/v1", "openai"},
		{"https://api.openai.com.evil.example/v1", "compatible"},
		{"https://x.openai.azure.com/openai/v1", "azure"},
		{"https://x.services.ai.azure.com/openai/v1", "azure"},
		{"https://openrouter.ai/api/v1", "openrouter"},
		{"https://api.groq.com/openai/v1", "groq"},
		{"https://api.together.xyz/v1", "together"},
		{"https://generativelanguage.googleapis.com/v1beta/openai", "gemini"},
		{"https://europe-west1-aiplatform.googleapis.com/v1", "compatible"},
		{"https://aiplatform.googleapis.com/v1", "gemini"},
		{"https://api.mistral.ai/v1", "mistral"},
		{"https://api.deepseek.com", "deepseek"},
		{"https://api.moonshot.cn/v1", "moonshot"},
		{"http://localhost:11434/v1", "ollama"},
		{"http://gpu-box:11434/v1", "ollama"},
		{"http://127.0.0.1:1234/v1", "lmstudio"},
		{"http://gpu-box:1234/v1", "compatible"},
		{"http://[::1]:8080/v1", "compatible"},
		{"https://llm.example/v1", "compatible"},
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
