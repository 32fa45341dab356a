package main

import (
	"bufio"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/examples/internal/demoserver"
	"github.com/mcpchain/mcpchain/mcpclient"
)

const serverArg = "serve-as-demo"

// TestMain makes this program the server that it uses, too.
func TestMain(m *testing.M) {
	if !slices.Contains(os.Args, serverArg) {
		os.Exit(m.Run())
	}
	_ = demoserver.Run(context.Background()) // ends with the input
}

func TestUse(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		tool, args string
		typed      string // what the person says
		want       string // in the output, or in the error
		shown      string
	}{
		"list":       {"", "", "", "add: \"Adds two numbers.\"\n  arguments: {", ""},
		"call":       {"add", `{"a":17,"b":25}`, "", "17 + 25 = 42\n", ""},
		"no tool":    {"nothing", "{}", "", "unknown tool", ""},
		"no JSON":    {"add", "{", "", "call tool \"add\": ", ""},
		"tool fails": {"weather", `{"city":"Atlantis"}`, "", "no weather for \"Atlantis\"", ""},
		"form":       {"book_table", `{"people":4}`, "2030-05-01\n19:30\n\nmany\n2\n\n\n", "a table for 4 on the terrace", `  "Where to sit" 1="Inside" 2="On the terrace" 3="At the bar" ["inside"]: `},
		"declined":   {"book_table", "{}", "2030-05-01\n!decline\n", "(decline)", "!decline says no\n"},
		"nobody":     {"book_table", "{}", "", "(cancel)", "the server asks: \"When should"},
		"reply":      {"summarize", `{"text":"Go is small."}`, "It is about Go.\n", "Summary: It is about Go.\n", "the server asks the model, as user: \"Go is small.\"\n"},
		"refusal":    {"summarize", `{"text":"Go is small."}`, "\n", "rejected by the user", "your reply, or nothing to refuse: "},
	} {
		t.Run(name, func(t *testing.T) {
			var out, shown strings.Builder
			you := &person{in: bufio.NewReader(strings.NewReader(tt.typed)), out: &shown}
			server := &mcpclient.Command{Path: program, Args: []string{serverArg}}
			got := "no error"
			if err := use(t.Context(), server, you, tt.tool, tt.args, &out); err != nil {
				got = err.Error()
			}
			if !strings.Contains(out.String(), tt.want) && !strings.Contains(got, tt.want) {
				t.Errorf("got %q and %s, want %q", out.String(), got, tt.want)
			}
			if !strings.Contains(shown.String(), tt.shown) {
				t.Errorf("the person saw %q, want %q in it", &shown, tt.shown)
			}
		})
	}
}
