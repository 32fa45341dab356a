package mcpchain

import (
	"io"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// TestAskWithoutAModel does not read the file, whose servers would be started.
func TestAskWithoutAModel(t *testing.T) {
	t.Setenv("OPENAI_MODEL", "")
	t.Setenv("ANTHROPIC_MODEL", "")
	check.Text(t, check.Err(Ask(t.Context(), "none.json", "go", nil)), "no model: set OPENAI_MODEL")
}

// TestModelOfTheEnvironment uses the model in an agent, and lends it to a server.
func TestModelOfTheEnvironment(t *testing.T) {
	t.Setenv("OPENAI_MODEL", "")
	t.Setenv("ANTHROPIC_MODEL", "")
	h, err := Open(t.Context(), file(t, map[string]any{"s": map[string]any{"url": serve(t)}}),
		&Options{Tokens: oauth.NewMemoryStore(), Terminal: &Terminal{In: strings.NewReader("y\ny\n"), Out: io.Discard}})
	check.Must(t, err)
	defer h.Close()
	const none = "no model: set OPENAI_MODEL"
	check.Text(t, check.Err(h.Ask(t.Context(), "go")), none)
	check.Text(t, check.Err(NewSampler(nil)), none)

	t.Setenv("OPENAI_MODEL", "m")
	t.Setenv("OPENAI_API_KEY", "k")
	t.Setenv("OPENAI_BASE_URL", completions(t))
	check.Contains(t, "what the server had from the model", check.Value(h.Ask(t.Context(), "go"))(t).Output, "pong")
	sampler := check.Value(NewSampler(nil))(t)
	client := check.Value(mcpclient.Connect(t.Context(), &mcpclient.HTTP{URL: serve(t)}, &mcpclient.Options{Sampling: sampler.ForServer("s")}))(t)
	defer client.Close()
	check.Equal(t, "", check.Value(client.CallTool(t.Context(), "ask", struct{}{}))(t).Text(), "pong")

	t.Setenv("OPENAI_MODEL", "")
	t.Setenv("ANTHROPIC_MODEL", "claude-opus-4-7")
	t.Setenv("ANTHROPIC_API_KEY", "k")
	check.Text(t, check.Err(NewSampler(nil)), "cannot be lent", "that the model cannot be lent")
}
