package agenteval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/evals/agent/model"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/internal/check"
)

// asRunner is the directory of a process that runs trials until it is killed.
const asRunner = "MCPCHAIN_EVALS_TEST_RUNNER"

// The trials of the killed runner, and how many of them a process ends before it is killed.
const manyTrials, perProcess = 42, 2

// runMany runs trials, whose server is a process, and kills this process after some of them.
func runMany(ctx context.Context, dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s, err := suite.Parse(fmt.Appendf(nil, `
name: many
servers: {desk: {command: [%q], env: {%s: %q}}}
tasks:
  - id: t
    prompt: Say hello.
    script: [{calls: [{tool: greet, args: {name: Ada}}]}, {sees: [Hello], say: Hello}]
    expect: {answer: {exact: Hello}}
`, self, asServer, "1"))
	if err != nil {
		return err
	}
	file, err := results.Open(filepath.Join(dir, "results.jsonl"))
	if err != nil {
		return err
	}
	defer file.Close()
	left := perProcess
	o := &Options{Model: model.Spec{Mode: results.Scripted}, Results: file, Dir: dir, Trials: manyTrials, Parallel: 2, Patience: patience}
	o.OnLine = func(_ *results.Line, done, all int) {
		if left--; left == 0 && done < all {
			if p, err := os.FindProcess(os.Getpid()); err == nil {
				_ = p.Kill()
			}
			select {} // until the signal has come
		}
	}
	return Run(ctx, []*suite.Suite{s}, o)
}

// The runner is killed again and again. In the end each trial has one line.
func TestKilledRunner(t *testing.T) {
	dir := t.TempDir()
	kills := 0
	for {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), asRunner+"="+dir)
		out, err := cmd.CombinedOutput()
		if err == nil {
			break
		}
		_, exited := errors.AsType[*exec.ExitError](err)
		check.Require(t, exited && len(out) == 0 && kills <= 2*manyTrials/perProcess, "after %d kills: %v: %s", kills, err, out)
		kills++
	}
	data := check.Value(os.ReadFile(filepath.Join(dir, "results.jsonl")))(t)
	lines := check.Value(results.Parse(data))(t)
	seen := map[int]bool{}
	for _, l := range lines {
		check.That(t, l.Outcome == results.Pass && !seen[l.Trial], "trial %d is %s, and had a line: %v; %s", l.Trial, l.Outcome, seen[l.Trial], l.Reason)
		seen[l.Trial] = true
	}
	check.That(t, len(lines) == manyTrials && kills == manyTrials/perProcess-1,
		"got %d lines after %d kills, want %d after %d", len(lines), kills, manyTrials, manyTrials/perProcess-1)
}

// asServer is set in a process that is an MCP server over its standard input and output.
const asServer = "MCPCHAIN_EVALS_TEST_SERVER"

// serveDesk greets people, and asks them for their names. GREETED is a file for what was said.
func serveDesk(ctx context.Context) error {
	s := sdk.NewServer(&sdk.Implementation{Name: "desk", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "greet", Description: "Greets a person.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}, greet)
	s.AddTool(&sdk.Tool{Name: "welcome", Description: "Asks for a name, and greets.", InputSchema: json.RawMessage(`{"type":"object"}`)}, welcome)
	return s.Run(ctx, &sdk.StdioTransport{})
}

func greet(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	var in struct{ Name string }
	if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
		return nil, err
	}
	if token := r.Params.GetProgressToken(); token != nil {
		if err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: 1}); err != nil {
			return nil, err
		}
	}
	return said("Hello " + in.Name)
}

func welcome(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	answer, err := r.Session.Elicit(ctx, &sdk.ElicitParams{
		Mode: "form", Message: "Your name?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
	})
	if err != nil {
		return nil, err
	}
	return said(fmt.Sprint("Hello ", answer.Content["name"]))
}

// said returns a text, and appends it to the file GREETED, if there is one.
func said(text string) (*sdk.CallToolResult, error) {
	if name := os.Getenv("GREETED"); name != "" {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if _, err := f.WriteString(text + "\n"); err != nil {
			return nil, err
		}
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
}
