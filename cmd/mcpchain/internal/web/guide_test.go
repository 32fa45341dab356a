//go:build unix

package web

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/guide"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/tryout"
)

// TestGuide starts the program by each command of the guide and the README, with the demo model instead of the
// endpoint, gets the page, and ends it by an interrupt.
func TestGuide(t *testing.T) {
	model := check.Value(tryout.StartModel())(t)
	defer func() { _ = model.Close() }()
	dir := t.TempDir()
	program := filepath.Join(dir, "mcpchain")
	out, err := exec.Command("go", "build", "-o", program, "../..").CombinedOutput()
	check.Require(t, err == nil, "build: %v\n%s", err, out)
	check.Must(t, os.WriteFile(filepath.Join(dir, "mcp.json"), []byte(`{"mcpServers": {}}`), 0o600))
	check.Must(t, os.WriteFile(filepath.Join(dir, "users.txt"), []byte("Ada 0123456789abcdef\n"), 0o600))
	count := 0
	for _, document := range []string{"../../../../README.md", "../../../../docs/page.md"} {
		for _, c := range guide.Commands(string(check.Value(os.ReadFile(document))(t))) {
			args, ok := strings.CutPrefix(c.Text, "go run ./cmd/mcpchain serve")
			if !ok {
				continue // another program's
			}
			count++
			args = strings.ReplaceAll(args, "http://localhost:11434/v1", model.BaseURL)
			serve(t, program, dir, append(append([]string{"serve"}, strings.Fields(args)...), "-listen", "127.0.0.1:0"))
		}
	}
	check.That(t, count >= 5, "got %d commands, want the ones of the guide", count)
}

func serve(t *testing.T, program, dir string, args []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir(), "HOME="+t.TempDir(), "OPENAI_BASE_URL=", "OPENAI_MODEL=", "OPENAI_API_KEY=")
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	check.Must(t, err)
	said := ""
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said += lines.Text() + "\n"
		page := regexp.MustCompile(`The page is at (http://\S+:\d+/) until Ctrl-C\. It keeps conversations in \S*web\.db$`).FindStringSubmatch(lines.Text())
		if page == nil {
			continue
		}
		resp, err := http.Get(page[1])
		if err != nil {
			t.Errorf("%s: %v", args, err)
		} else if _ = resp.Body.Close(); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: got %s", args, resp.Status)
		}
		check.NoError(t, cmd.Process.Signal(os.Interrupt))
	}
	err = cmd.Wait()
	check.That(t, err == nil && strings.Contains(said, "http://"), "%s: got %v and %s", args, err, said)
}
