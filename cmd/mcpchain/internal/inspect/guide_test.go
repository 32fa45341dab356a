//go:build unix

package inspect

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/guide"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestGuide installs the programs as the guide says, and runs each command of the guide, with the guide's own mcp.json.
func TestGuide(t *testing.T) {
	t.Parallel()
	text := check.Value(os.ReadFile("../../../../docs/inspect.md"))(t)
	bin, dir := t.TempDir(), t.TempDir()
	_, file, _ := strings.Cut(string(text), "```json\n")
	file, _, _ = strings.Cut(file, "```")
	check.Must(t, os.WriteFile(dir+"/mcp.json", []byte(file), 0o600))
	env := append(os.Environ(), "GOBIN="+bin, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "XDG_CONFIG_HOME="+t.TempDir())
	commands := guide.Commands(string(text))
	for _, c := range commands {
		where := dir
		if strings.HasPrefix(c.Text, "go ") {
			where = filepath.Join("..", "..", "..", "..")
		}
		got, err := guide.Run(t.Context(), c.Text, where, env)
		check.That(t, err == nil && (got != "" || where != dir) && (c.Output == "" || got == c.Output),
			"%s: got %v and %q, want %q", c.Text, err, got, c.Output)
	}
	check.That(t, len(commands) >= 10, "got %d commands, want the ones of the guide", len(commands))
}

// TestGuideIsWhole holds the guide's tables against the program.
func TestGuideIsWhole(t *testing.T) {
	t.Parallel()
	text := check.Value(os.ReadFile("../../../../docs/inspect.md"))(t)
	for _, s := range []int{statusFine, statusMissing, statusUsage, statusSkipped, statusFailed, statusAsked, statusCostly} {
		row := regexp.MustCompile(`(?m)^\| ` + string(rune('0'+s)) + ` \|`)
		check.That(t, row.Match(text), "the guide has no exit status %d", s)
	}
	for i := range reflect.TypeFor[serverReport]().NumField() {
		key, _, _ := strings.Cut(reflect.TypeFor[serverReport]().Field(i).Tag.Get("json"), ",")
		check.That(t, strings.Contains(string(text), "`"+key+"`") || strings.Contains(string(text), "`servers[]."+key+"`"),
			"the guide does not say what %q is", key)
	}
}
