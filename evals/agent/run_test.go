package agenteval

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/evals/agent/grade"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		if err := serveDesk(context.Background()); err != nil {
			os.Exit(1)
		}
		return
	}
	if dir := os.Getenv(asRunner); dir != "" {
		if err := runMany(context.Background(), dir); err != nil {
			println(err.Error())
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// patience is how long a trial may take on a slow machine.
const patience = 10 * time.Minute

// linesOf runs a suite with its scripts, and returns the lines by task.
func linesOf(t *testing.T, yaml string, spec Model) map[string]*results.Line {
	t.Helper()
	s := check.Value(suite.Parse([]byte(yaml)))(t)
	all := check.Value(Lines(t.Context(), []*suite.Suite{s}, Options{Model: spec, Dir: t.TempDir(), Patience: patience}))(t)
	lines := map[string]*results.Line{}
	for _, l := range all {
		lines[l.Task] = l
	}
	return lines
}

// A server that cannot be reached says nothing of the agent, and a reply that does not fit its form is a fault of the suite.
func TestVoid(t *testing.T) {
	l := linesOf(t, "name: v\nservers: {s: {command: [/nonexistent/server]}}\ntasks: [{id: t, prompt: p, script: [{say: x}], expect: {}}]", Model{Mode: results.Scripted})["t"]
	check.That(t, l.Outcome == results.Void && l.Cause == "harness", "got %s (%s): %s", l.Outcome, l.Cause, l.Reason)
	l = linesOf(t, "name: v\nservers: {desk: {inprocess: people, era: modern}}\ntasks: [{id: t, prompt: p, people: {forms: [{action: accept, content: {name: 7}}]}, "+
		"script: [{calls: [{tool: ask_name}]}, {say: x}], expect: {}}]", Model{Mode: results.Scripted})["t"]
	check.That(t, l.Outcome == results.Void && l.Cause == "harness" && strings.Contains(l.Reason, "answer question"), "got %s (%s): %s", l.Outcome, l.Cause, l.Reason)
}

// A call that hangs fails the trial at its limit. It is not a failure of a tool that the model could get over.
func TestHang(t *testing.T) {
	const hanging = `
name: h
servers: {s: {inprocess: bank, seed: {Ada: 100}, faults: [{tool: balance, kind: slow, millis: 90000}]}}
tasks: [{id: t, prompt: p, script: [{calls: [{tool: balance, args: {owner: Ada}}]}, {say: "100"}], expect: {answer: {number: 100}}}]`
	s := check.Value(suite.Parse([]byte(hanging)))(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		one := trial{Options: &Options{Model: Model{Mode: results.Scripted}, Dir: dir}, suite: s, task: s.Tasks[0]}
		l := one.run(t.Context())
		check.That(t, l.Outcome == results.Fail && l.Duration == time.Minute && strings.Contains(l.Reason, context.DeadlineExceeded.Error()),
			"got %s after %v: %s, want that the trial fails after a minute", l.Outcome, l.Duration, l.Reason)
	})
}

// A trial whose context has ended has no line.
func TestInterruptedTrial(t *testing.T) {
	s := check.Value(suite.Parse([]byte("name: i\ntasks: [{id: t, prompt: p, script: [{say: x}], expect: {}}]")))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	one := trial{Options: &Options{Model: Model{Mode: results.Scripted}, Dir: t.TempDir()}, suite: s, task: s.Tasks[0]}
	l := one.run(ctx)
	check.That(t, l == nil, "got %+v, want no line", l)
}

// A long text is cut between two characters.
func TestTranscriptIsCut(t *testing.T) {
	task := &suite.Task{System: "a" + strings.Repeat("é", maxText)}
	all := transcript(task, &grade.Evidence{State: &ledger.State{}})
	check.Require(t, len(all) == 1, "got %d entries, want 1", len(all))
	text := strings.TrimSuffix(all[0].Text, "…")
	check.Equal(t, "bytes", len(text), maxText-1)
	check.Equal(t, "valid", utf8.ValidString(text), true)
}

var update = flag.Bool("update", false, "write testdata/bad.golden.json")

// A bad script scores what arithmetic demands, and fails. Each task is named by the grader that it is for.
func TestBadScripts(t *testing.T) {
	data, err := os.ReadFile("testdata/bad.yaml")
	check.Must(t, err)
	got := map[string]map[string]float64{}
	for task, l := range linesOf(t, string(data), Model{Mode: results.Scripted}) {
		check.That(t, l.Outcome == results.Fail, "%s: got %s: %s", task, l.Outcome, l.Reason)
		got[task] = map[string]float64{}
		for _, s := range l.Scores {
			got[task][s.Grader] = s.Value
		}
	}
	if *update {
		data, err := json.MarshalIndent(got, "", "  ")
		if err == nil {
			err = os.WriteFile("testdata/bad.golden.json", append(data, '\n'), 0o644)
		}
		check.Must(t, err)
	}
	want := map[string]map[string]float64{}
	if data, err = os.ReadFile("testdata/bad.golden.json"); err == nil {
		err = json.Unmarshal(data, &want)
	}
	check.Require(t, err == nil && len(got) == len(want), "got %d tasks, want %d, %v", len(got), len(want), err)
	for task, scores := range want {
		for grader, value := range scores {
			if math.Abs(got[task][grader]-value) > 1e-12 || len(got[task]) != len(scores) {
				t.Errorf("%s: got %v, want %v", task, got[task], scores)
				break
			}
		}
	}
	for grader, value := range map[string]float64{
		"status": 0, "answer": 2.0 / 3, "state": 0.5, "effects": 1.0 / 3, "calls": 4.0 / 6, "arguments": (2.0/3 + 1) / 2,
		"forbidden": 0, "budget": 0.5, "schema": 0,
	} {
		check.That(t, math.Abs(want[grader][grader]-value) <= 1e-12, "%s: the golden score is %v, want %v", grader, want[grader][grader], value)
	}
}

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
	o := &Options{Model: Model{Mode: results.Scripted}, Dir: dir, Patience: patience, Results: file, Trials: manyTrials, Parallel: 2}
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
