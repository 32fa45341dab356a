package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
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

// The suite of the guide runs as it stands there.
func TestGuide(t *testing.T) {
	guide, err := os.ReadFile("../docs/evals.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(guide), "```yaml\n")
	suite, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("the guide has no suite")
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "todo.yaml")
	if err := os.WriteFile(name, []byte(suite), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "todo-server")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	var out, notes bytes.Buffer
	if err := command(t.Context(), []string{"agent", "-patience", "10m", "-trials", "2", name}, &out, &notes); err != nil || !strings.Contains(out.String(), "pass^2 100.0%") {
		t.Errorf("got %s\n%s\n%v", out.String(), notes.String(), err)
	}
}
