//go:build unix

package chat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/guide"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/tryout"
)

// TestGuide installs the program as the guide says, and runs the commands of the guide with demo servers and the demo model.
func TestGuide(t *testing.T) {
	t.Parallel()
	text := check.Value(os.ReadFile("../../../../docs/chatbot.md"))(t)
	model := check.Value(tryout.StartModel())(t)
	defer func() { _ = model.Close() }()
	const endpoint = "http://localhost:11434/v1"
	bin, dir, servers := t.TempDir(), t.TempDir(), t.TempDir()
	_, models, _ := strings.Cut(string(text), "```jsonc\n")
	models, _, _ = strings.Cut(models, "```")
	for name, content := range map[string]string{
		servers + "/mcp.json": `{"mcpServers": {"demo": {"command": "mcpchain", "args": ["demo"]}}}`,
		dir + "/models.json":  strings.ReplaceAll(models, endpoint, model.BaseURL),
		dir + "/notes.txt":    "A long story.\n",
	} {
		put(t, name, content, 0o600)
	}
	env := append(os.Environ(), "GOBIN="+bin, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"XDG_CONFIG_HOME="+t.TempDir(), "OPENAI_API_KEY=k", "OPENAI_BASE_URL=", "OPENAI_MODEL=")
	commands := guide.Commands(string(text))
	for _, c := range commands {
		where := dir
		if strings.HasPrefix(c.Text, "go ") {
			where = filepath.Join("..", "..", "..", "..")
		}
		command := strings.NewReplacer(endpoint, model.BaseURL, " mcp.json", " "+servers+"/mcp.json").Replace(c.Text)
		got, err := guide.Run(t.Context(), command, where, env)
		check.That(t, err == nil && (c.Output == "" || got == c.Output), "%s: got %v and %q, want %q", c.Text, err, got, c.Output)
	}
	check.That(t, len(commands) >= 10, "got %d commands, want the ones of the guide", len(commands))
}
