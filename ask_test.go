package mcpchain

import (
	"io"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// TestAskWithoutAModel does not read the file, whose servers would be started.
func TestAskWithoutAModel(t *testing.T) {
	t.Setenv("OPENAI_MODEL", "")
	t.Setenv("ANTHROPIC_MODEL", "")
	check.Text(t, check.Err(Ask(t.Context(), "none.json", "go", nil)), "no model: set OPENAI_MODEL")
}

// TestModelOfTheEnvironment uses the model in an agent, which lends it to a server.
func TestModelOfTheEnvironment(t *testing.T) {
	t.Setenv("OPENAI_MODEL", "")
	t.Setenv("ANTHROPIC_MODEL", "")
	h, err := Open(t.Context(), file(t, map[string]any{"s": map[string]any{"url": serve(t)}}),
		&Options{Tokens: oauth.NewMemoryStore(), Terminal: &Terminal{In: strings.NewReader("y\ny\n"), Out: io.Discard}})
	check.Must(t, err)
	defer h.Close()
	const none = "no model: set OPENAI_MODEL"
	check.Text(t, check.Err(h.Ask(t.Context(), "go")), none)

	t.Setenv("OPENAI_MODEL", "m")
	t.Setenv("OPENAI_API_KEY", "k")
	t.Setenv("OPENAI_BASE_URL", completions(t))
	check.Contains(t, "what the server had from the model", check.Value(h.Ask(t.Context(), "go"))(t).Output, "pong")
}
