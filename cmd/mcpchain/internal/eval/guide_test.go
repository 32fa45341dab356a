package eval

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
)

// serveTodo is the server of the guide: a list in a file.
func serveTodo(file string) error {
	items := func() (all []string, err error) {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		return all, json.Unmarshal(data, &all)
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "todo", Version: "1"}, nil)
	said := func(text string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
	}
	sdk.AddTool(s, &sdk.Tool{Name: "list_items", Description: "Lists what is to do."}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		all, err := items()
		return said(strings.Join(all, "\n")), nil, err
	})
	type item struct {
		Text string `json:"text"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "add_item", Description: "Adds what is to do."}, func(_ context.Context, _ *sdk.CallToolRequest, in item) (*sdk.CallToolResult, any, error) {
		all, err := items()
		if err != nil {
			return nil, nil, err
		}
		data, err := json.Marshal(append(all, in.Text))
		if err != nil {
			return nil, nil, err
		}
		return said("added"), nil, os.WriteFile(file, data, 0o600)
	})
	return s.Run(context.Background(), &sdk.StdioTransport{})
}

func block(t *testing.T, language string) string {
	t.Helper()
	_, rest, _ := strings.Cut(string(check.Value(os.ReadFile("../../../../docs/evals.md"))(t)), "```"+language+"\n")
	text, _, ok := strings.Cut(rest, "```")
	check.Require(t, ok, "the guide has no block of %s", language)
	return text
}

// The suites of the guide run as they are.
func TestGuide(t *testing.T) {
	if status, out, errs := run(t, write(t, "sums.json", block(t, "js"))); status != 0 || !strings.Contains(out, "100.0%") {
		t.Errorf("sums.json: got %d, %s\n%s", status, out, errs)
	}
	name := write(t, "todo.yaml", block(t, "yaml"))
	self := check.Value(os.Executable())(t)
	dir := filepath.Dir(name)
	check.Must(t, os.Symlink(self, filepath.Join(dir, "todo-server")))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	status, out, errs := run(t, "-scripted", "-trials", "2", name)
	check.That(t, status == 0 && strings.Contains(out, "pass^2 100.0%"), "todo.yaml: got %d, %s\n%s", status, out, errs)
}
