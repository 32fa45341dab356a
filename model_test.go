package mcpchain

import (
	"io"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// TestModelOfTheEnvironment uses the model in an agent and through langchaingo, and lends it to
// a server.
func TestModelOfTheEnvironment(t *testing.T) {
	t.Setenv("OPENAI_MODEL", "")
	t.Setenv("ANTHROPIC_MODEL", "")
	h, err := Open(t.Context(), file(t, map[string]any{"s": map[string]any{"url": serve(t)}}),
		&Options{Tokens: oauth.MemoryStore(), Terminal: &Terminal{In: strings.NewReader("y\ny\n"), Out: io.Discard}})
	check(t, err)
	defer h.Close()
	const none = "no model: set OPENAI_MODEL"
	if _, err := h.Ask(t.Context(), "go"); err == nil || !strings.Contains(err.Error(), none) {
		t.Errorf("got %v, want %q", err, none)
	}
	if _, err := llms.GenerateFromSinglePrompt(t.Context(), h.Model(), "go"); err == nil || !strings.Contains(err.Error(), none) {
		t.Errorf("got %v, want %q", err, none)
	}
	if _, err := Sampler(nil); err == nil || !strings.Contains(err.Error(), none) {
		t.Errorf("got %v, want %q", err, none)
	}

	t.Setenv("OPENAI_MODEL", "m")
	t.Setenv("OPENAI_API_KEY", "k")
	t.Setenv("OPENAI_BASE_URL", completions(t))
	if result, err := h.Ask(t.Context(), "go"); err != nil || !strings.Contains(result.Output, "pong") {
		t.Errorf("got %+v, %v, want what the server had from the model", result, err)
	}
	if text, err := llms.GenerateFromSinglePrompt(t.Context(), h.Model(), "go"); err != nil || text != "pong" {
		t.Errorf("got %q, %v", text, err)
	}
	sampler, err := Sampler(nil)
	check(t, err)
	client, err := mcpclient.Connect(t.Context(), &mcpclient.HTTP{URL: serve(t)}, &mcpclient.Options{Sampling: sampler.For("s")})
	check(t, err)
	defer client.Close()
	if result, err := client.CallTool(t.Context(), "ask", struct{}{}); err != nil || result.Text() != "pong" {
		t.Errorf("got %+v, %v", result, err)
	}

	t.Setenv("OPENAI_MODEL", "")
	t.Setenv("ANTHROPIC_MODEL", "claude-opus-4-7")
	t.Setenv("ANTHROPIC_API_KEY", "k")
	if _, err := Sampler(nil); err == nil || !strings.Contains(err.Error(), "cannot be lent") {
		t.Errorf("got %v, want that the model cannot be lent", err)
	}
}
