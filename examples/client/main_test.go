package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/examples/internal/demo"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

const (
	hostileArg      = "serve-as-hostile"
	programVariable = "MCPCHAIN_CLIENT_PROGRAM"
)

// TestMain makes this program also its own server.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(programVariable) != "":
		main()
	case demo.Serve():
	case slices.Contains(os.Args, hostileArg):
		serveHostile()
	default:
		os.Exit(m.Run())
	}
}

// serveHostile has a tool with terminal escapes in every text.
func serveHostile() {
	const attack = "\x1b[2Jgone\u3164"
	fmt.Fprintln(os.Stderr, attack)
	s := sdk.NewServer(&sdk.Implementation{Name: "hostile", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object","description":"\u009b2J"}`)
	s.AddTool(&sdk.Tool{Name: "draw", Description: attack, InputSchema: schema}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if strings.Contains(string(r.Params.Arguments), "fail") {
			return nil, &jsonrpc.Error{Code: -32000, Message: attack + "\nagain"}
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: attack}}}, nil
	})
	_ = s.Run(context.Background(), &sdk.StdioTransport{}) // ends with the input
}

// No text of a server reaches the terminal as an escape sequence.
func TestHostileServer(t *testing.T) {
	program := check.Value(os.Executable())(t)
	for _, tt := range []struct {
		flags          []string
		stdout, stderr string
	}{
		{nil, `draw: "\x1b[2Jgone\u3164"` + "\n  arguments: {\"type\":\"object\",\"description\":\"\\u009b2J\"}\n", `\x1b[2Jgone\u3164` + "\n"},
		{[]string{"-call", "draw"}, `\x1b[2Jgone\u3164` + "\n", `\x1b[2Jgone\u3164` + "\n"},
		{[]string{"-call", "draw", "-args", `{"a":"fail"}`}, "", `\x1b[2Jgone\u3164 again`},
	} {
		cmd := exec.CommandContext(t.Context(), program, append(tt.flags, program, hostileArg)...)
		cmd.Env = append(os.Environ(), programVariable+"=1")
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run() // fails if the tool fails
		check.That(t, (err != nil) == (tt.stdout == "") && stdout.String() == tt.stdout && strings.Contains(stderr.String(), tt.stderr) && !strings.Contains(stderr.String(), "\x1b"),
			"%q: got %v, %q and %q, want %q and %q", tt.flags, err, &stdout, &stderr, tt.stdout, tt.stderr)
	}
}

func TestUse(t *testing.T) {
	program := check.Value(os.Executable())(t)
	for name, tt := range map[string]struct {
		tool, args string
		typed      string // what the person says
		want       string // part of the output, or of the error
		shown      string
	}{
		"list":       {"", "", "", "add: \"Adds two numbers.\"\n  arguments: {", ""},
		"call":       {"add", `{"a":17,"b":25}`, "", "17 + 25 = 42\n", ""},
		"no tool":    {"nothing", "{}", "", "unknown tool", ""},
		"no JSON":    {"add", "{", "", "call tool \"add\": ", ""},
		"tool fails": {"weather", `{"city":"Atlantis"}`, "", "no weather for \"Atlantis\"", ""},
		"form":       {"book_table", `{"people":4}`, "2030-05-01\n19:30\n\nmany\n2\n\n\n", "a table for 4 on the terrace", `  "Where to sit" 1="Inside" 2="On the terrace" 3="At the bar" ["Inside"]: `},
		"declined":   {"book_table", "{}", "2030-05-01\n!decline\n", "(decline)", "!decline says no\n"},
		"nobody":     {"book_table", "{}", "", "(cancel)", "the server asks: \"When should"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, shown strings.Builder
			you := newPerson(strings.NewReader(tt.typed), &shown)
			server := &mcpclient.Command{Path: program, Args: []string{demo.ServerArg}}
			got := "no error"
			if err := use(t.Context(), server, you, tt.tool, tt.args, &out); err != nil {
				got = err.Error()
			}
			check.That(t, strings.Contains(out.String(), tt.want) || strings.Contains(got, tt.want),
				"got %q and %s, want %q", out.String(), got, tt.want)
			check.Contains(t, "the person saw", shown.String(), tt.shown)
		})
	}
}

// A form that the server gives up leaves the keyboard to the next one.
func TestCancelledForm(t *testing.T) {
	in, typed := io.Pipe()
	defer typed.Close()
	you := newPerson(in, io.Discard)
	form := &mcp.ElicitParams{Message: "?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	check.Is(t, check.Err(you.fillIn(ctx, form)), context.Canceled)
	go func() { _, _ = io.WriteString(typed, "Ada\n") }()
	got := check.Value(you.fillIn(t.Context(), form))(t)
	check.Equal(t, "name", got.Content["name"], any("Ada"))
}
