package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/examples/internal/demomodel"
	"github.com/mcpchain/mcpchain/examples/internal/demoserver"
)

const serverArg = "serve-as-demo"

// TestMain makes this program the server that the configuration names, too.
func TestMain(m *testing.M) {
	if !slices.Contains(os.Args, serverArg) {
		os.Exit(m.Run())
	}
	_ = demoserver.Run(context.Background()) // ends with the input
}

func TestAgent(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"demo": map[string]any{"command": program, "args": []string{serverArg}},
		"typo": map[string]any{"comand": "x"},
		"off":  map[string]any{"command": "no-such-program-here", "disabled": true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, servers, 0o600); err != nil {
		t.Fatal(err)
	}
	model, err := demomodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = model.Close() }()
	host := openai.DefaultConfig("none")
	host.BaseURL = model.BaseURL

	for name, tt := range map[string]struct {
		question string
		typed    string // what the person says
		want     string
		shown    string
	}{
		"approval":    {"What is 17 plus 25?", "y\n", "17 + 25 = 42", `Run "add" on demo with {"a":17,"b":25}? y/n: `},
		"denial":      {"What is 17 plus 25?", "", "the user said no", `Run "add"`},
		"sampling":    {"Summarize: Go is small. It is fun.", "y\ny\n", "Summary: Go is small.", "demo asks the model: \"Go is small. It is fun.\"\n"},
		"refusal":     {"Summarize: Go is small. It is fun.", "y\nn\n", "the user refused", "Let it, for at most 200 tokens? y/n: "},
		"elicitation": {"Book a table for 4", "y\n2030-05-01\n19:30\n\n\n\n\n", "Booked: a table for 4 inside", `  "Number of people" ["4"]:   "Where to sit" 1="Inside" 2="On the terrace" 3="At the bar" ["inside"]: `},
		"bad form":    {"Book a table", "y\ntomorrow\n", "No table was booked", "declined: field \"date\""},
	} {
		t.Run(name, func(t *testing.T) {
			var shown strings.Builder
			you := &person{in: bufio.NewReader(strings.NewReader(tt.typed)), out: &shown}
			got, err := ask(t.Context(), file, host, demomodel.Name, you, tt.question)
			if err != nil || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, %v; want %q in it", got, err, tt.want)
			}
			const left = `mcp.json:1: mcpServers.typo.comand: unknown key; did you mean "command"?`
			if got := shown.String(); !strings.HasPrefix(got, `left out: server "typo": `) || !strings.Contains(got, left) {
				t.Errorf("the person saw %q, want the mistake in the file first", got)
			}
			if !strings.Contains(shown.String(), tt.shown) {
				t.Errorf("the person saw %q, want %q in it", &shown, tt.shown)
			}
		})
	}
}

func TestShownJSON(t *testing.T) {
	for text, want := range map[string]string{
		"{\"a\": \"é\\n\",\n \"b\": 1.0}": `{"a":"é\n","b":1.0}`,
		"\"\u202e\u0085\U000e0001\"":      `"\u202e\u0085\udb40\udc01"`,
		"rm -rf\n":                        `"rm -rf\n"`,
		"":                                `""`,
	} {
		if got := shownJSON(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
