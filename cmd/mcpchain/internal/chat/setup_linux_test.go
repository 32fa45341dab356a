package chat

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// inProject returns a command in a folder whose mcp.json has a server that needs a password.
func inProject(t *testing.T) *exec.Cmd {
	t.Helper()
	model, _ := overheard(t)
	cmd := command(t, model...)
	text, err := json.Marshal(map[string]any{
		"inputs": []any{map[string]any{"type": "promptString", "id": "key", "description": "The key of the server", "password": true}},
		"servers": map[string]any{"mine": map[string]any{
			"command": cmd.Path, "env": map[string]string{asServer: "good", "KEY": "${input:key}"}, "excludeTools": []string{"count"},
		}},
	})
	check.Must(t, err)
	cmd.Dir = t.TempDir()
	put(t, filepath.Join(cmd.Dir, "mcp.json"), string(text), 0o600)
	return cmd
}

// The program asks before it uses the file of a folder, and asks for a password without showing it.
func TestProjectFile(t *testing.T) {
	t.Parallel()
	cmd := inProject(t)
	m := openScreenOf(t, cmd)
	m.await("mine: starts ")
	m.enter("[y]es", "y", "The key of the server:  it is not shown", "hunter2", "*******", "\r")
	m.await("server mine: 6 tools") // one of the demo server's is excluded
	m.leave()
	second := again(t, cmd)
	n := openScreenOf(t, second)
	n.enter("The key of the server:  it is not shown", "hunter2\r", "you ›\n", ctrlD)
	n.ended(0)
	check.That(t, !strings.Contains(n.screen(), "starts "), "got another question about a trusted file:\n%s", n.screen())
	shown := string(m.whole) + string(n.whole)
	check.That(t, !strings.Contains(shown, "hunter2"), "the password was shown")
	err := filepath.Walk(m.home(), func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		check.That(t, !strings.Contains(string(data), "hunter2"), "%s has the password", path)
		return err
	})
	check.NoError(t, err)
}

// A plain terminal does not show a password either.
func TestProjectFileOnAPlainTerminal(t *testing.T) {
	t.Parallel()
	p := openPlainOf(t, inProject(t))
	p.enter("[n]o: ", "yes\n", "The key of the server: ", "hunter2\n", "server mine: 6 tools")
	p.enter("you ›", "call add {\"a\":1,\"b\":2}\n", "[n]o", "y\n", "The result: 1 + 2 = 3.")
	p.leave()
	check.That(t, !strings.Contains(p.whole, "hunter2"), "the password was shown")
}

// A script does not use the file of its folder, and says so.
func TestProjectFileWithoutATerminal(t *testing.T) {
	t.Parallel()
	finish(t, inProject(t), "hello\n").check(t, "", 1, "mcp.json names servers that you have not allowed yet", "give -config mcp.json to use them, or -config none")
}
