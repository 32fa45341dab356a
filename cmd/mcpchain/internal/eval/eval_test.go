package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/tryout"
)

func TestMain(m *testing.M) {
	if file := os.Getenv("TODO_FILE"); file != "" {
		if err := serveTodo(file); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func run(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	o, err := parse(append([]string{"-patience", "10m"}, args...), func(string) string { return "" }, &out)
	if err == nil {
		err = evaluate(t.Context(), o, &out, &errs)
	}
	return cli.Status(err, &errs), out.String(), errs.String()
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	check.Must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// sums is a suite with a task that the demo model can do with the demo server, and one that it cannot.
const sums = `{"name": "sums", "about": "Small.", "tasks": [
	{"id": "add", "prompt": "What is 17 plus 25?", "expect": {"answer": {"contains": ["42"]}, "calls": [{"tool": "add", "args": {"a": 17, "b": 25}}]}},
	{"id": "lost", "prompt": "How is the weather in Berlin?", "expect": {"answer": {"contains": ["Atlantis"]}}}]}`

// The demo model does the tasks of a JSON file with the demo server, and the results are reported in all forms.
func TestDemo(t *testing.T) {
	file, junit := write(t, "s.json", sums), filepath.Join(t.TempDir(), "out.xml")
	status, out, errs := run(t, "-junit", junit, file)
	row := strings.Fields(strings.Split(out, "\n")[2])
	check.That(t, status == cli.StatusFailed && strings.HasPrefix(out, "demo: model demo, ") && strings.Join(row[:6], " ") == "sums 2 2 1 1 0", "got %d, %s", status, out)
	check.That(t, strings.Contains(errs, "the model is a demo model") && strings.Contains(errs, "fail sums/lost 0: answer: it lacks \"Atlantis\"\n  its answer: The tool weather says: Berlin: 18 °C, light rain\n") && strings.HasSuffix(errs, "mcpchain: sums: 1 of 2 trials failed\n"),
		"got %s", errs)
	var doc struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
	}
	data := check.Value(os.ReadFile(junit))(t)
	err := xml.Unmarshal(data, &doc)
	check.That(t, err == nil && doc.Tests == 2 && doc.Failures == 1, "got %+v, %v in %s", doc, err, data)
	status, out, errs = run(t, "-run", "/add$", "-json", file)
	var l results.Line
	err = json.Unmarshal([]byte(out), &l)
	check.That(t, status == cli.StatusFine && err == nil && l.Task == "add" && l.Outcome == results.Pass && l.Mode == results.Demo, "got %d, %s, %s, %v", status, out, errs, err)
}

// A recorded model and its servers are played back without either.
func TestRecord(t *testing.T) {
	model := httptest.NewServer(tryout.ModelHandler())
	defer model.Close()
	server := httptest.NewServer(http.NotFoundHandler()) // is never asked
	defer server.Close()
	file, tapes := write(t, "s.json", sums), filepath.Join(t.TempDir(), "tapes")
	status, out, errs := run(t, "-base-url", model.URL+"/v1", "-model", "demo", "-model-api", "chat", "-record", tapes, "-run", "/add$", file)
	check.That(t, status == cli.StatusFine && strings.HasPrefix(out, "live: model demo, "), "record: got %d, %s, %s", status, out, errs)
	model.Close()
	status, out, errs = run(t, "-play", tapes, "-play-servers", "-run", "/add$", file)
	check.That(t, status == cli.StatusFine && strings.HasPrefix(out, "recorded: model demo, "), "play: got %d, %s, %s", status, out, errs)
}

// A suite without servers uses those of -config, with their filters.
func TestConfig(t *testing.T) {
	self := check.Value(os.Executable())(t)
	list := write(t, "todo.json", `["buy milk"]`)
	config := check.Value(json.Marshal(map[string]any{"mcpServers": map[string]any{"todo": map[string]any{
		"command": self, "env": map[string]string{"TODO_FILE": list}, "includeTools": []string{"list_items"},
	}}}))(t)
	suite := `{"name": "s", "tasks": [{"id": "a", "prompt": "p", "expect": {"answer": {"exact": "x"}}, "script": [{"calls": [{"tool": "TOOL", "args": ARGS}]}, {"sees": ["milk"], "say": "x"}]}]}`
	for tool, want := range map[string]int{"list_items": cli.StatusFine, "add_item": cli.StatusFailed} {
		args := map[string]string{"list_items": "{}", "add_item": `{"text": "x"}`}[tool]
		status, _, errs := run(t, "-scripted", "-config", write(t, "mcp.json", string(config)), write(t, "s.json", strings.NewReplacer("TOOL", tool, "ARGS", args).Replace(suite)))
		check.That(t, status == want, "%s: got %d, %s, want %d", tool, status, errs, want)
	}
}

// Mistakes on the command line and in files have an exit status of their own.
func TestMistakes(t *testing.T) {
	file := write(t, "s.json", sums)
	config := write(t, "mcp.json", `{"mcpServers":{"x":{"comand":"y"}}}`)
	for args, want := range map[string]string{
		"":                                       "name a suite",
		"-scripted -model x " + file:             "give one of -model, -scripted and -play",
		"-scripted " + file:                      "-scripted: task sums/add has no script",
		"-play-servers " + file:                  "-play-servers goes with -play",
		"-least 2 " + file:                       "-least 2: want 0 to 1",
		"-workers -1 " + file:                    "-workers is below 0",
		"-base-url x " + file:                    "-base-url needs the name of a model",
		"-run nothing " + file:                   `no suite/id matches "nothing"`,
		"nonexistent.yaml":                       "open nonexistent.yaml",
		"-config nonexistent " + file:            "open nonexistent",
		"-config " + config + " " + file:         "mcpchain: " + config + `:1: server "x": comand: `,
		file + " " + write(t, "twin.json", sums): `twin.json: the suite "sums" is in ` + file + ", too",
		"-junit /nonexistent/out.xml " + file:    "-junit: stat /nonexistent: ",
		"-results /nonexistent/r " + file:        "-results: open /nonexistent/r: ",
		"-play /nonexistent " + file:             "open /nonexistent/",
		write(t, "t.yaml", "name: s\ntasks: [{id: a, promt: p}]"): `did you mean "prompt"?`,
	} {
		status, out, errs := run(t, strings.Fields(args)...)
		check.That(t, status == cli.StatusUsage && out == "" && strings.Contains(errs, want) && !strings.Contains(errs, "trials"), "%q: got %d, %q, %s, want %q", args, status, out, errs, want)
	}
}

// -list lists the chosen tasks, and runs nothing.
func TestList(t *testing.T) {
	name := write(t, "s.yaml", "name: s\nabout: Small.\nservers: {gone: {command: [/nonexistent]}}\ntasks:\n"+
		"- {id: one, prompt: \"first\\nline\", expect: {}}\n- {id: second, prompt: "+strings.Repeat("x", 100)+", expect: {}}\n")
	for args, want := range map[string]string{
		"-list":            "s: Small.\n  s/one     first line\n  s/second  " + strings.Repeat("x", 79) + "…\n",
		"-list -run /one$": "s: Small.\n  s/one  first line\n",
	} {
		status, out, errs := run(t, append(strings.Fields(args), name)...)
		check.That(t, status == cli.StatusFine && out == want && errs == "", "%q: got %d, %s%s, want %s", args, status, out, errs, want)
	}
}

// A path in a suite is relative to the folder of its file.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"bin", "suites"} {
		check.Must(t, os.Mkdir(filepath.Join(dir, sub), 0o700))
	}
	self := check.Value(os.Executable())(t)
	for _, server := range []string{"bin/todo-server", "suites/todo-server"} {
		check.Must(t, os.Symlink(self, filepath.Join(dir, server)))
	}
	for _, program := range []string{"./todo-server", "../bin/todo-server", "/usr/bin/env, ./todo-server"} {
		text := "name: s\nservers: {todo: {command: [" + program + "], env: {TODO_FILE: todo.json}, seed: {todo.json: '[\"milk\"]'}}}\n" +
			"tasks: [{id: a, prompt: p, script: [{calls: [{tool: list_items}]}, {sees: [milk], say: x}], expect: {}}]\n"
		name := filepath.Join(dir, "suites", "s.yaml")
		check.Must(t, os.WriteFile(name, []byte(text), 0o600))
		for cwd, name := range map[string]string{t.TempDir(): name, dir: "suites/s.yaml"} {
			t.Chdir(cwd)
			status, _, errs := run(t, "-scripted", name)
			check.That(t, status == cli.StatusFine, "%s in %s: got %d, %s", program, cwd, status, errs)
		}
	}
}

// Void trials are reported with their reason. A suite with only void trials has no rate.
func TestVoid(t *testing.T) {
	const head = "name: v\nservers: {s: {command: [/nonexistent/server]}}\ntasks: [{id: a, prompt: p, script: [{say: x}], expect: {}}"
	status, out, errs := run(t, "-scripted", write(t, "v.yaml", head+", {id: b, servers: [], prompt: p, script: [{say: x}], expect: {}}]"))
	check.That(t, status == cli.StatusFailed && strings.Contains(errs, "void v/a 0: ") && strings.Contains(errs, `start "/nonexistent/server"`),
		"got %d, %s, want the reason", status, errs)
	check.Contains(t, "", out, "v: void trials say nothing about the agent, and do not count; ")
	_, out, errs = run(t, "-scripted", write(t, "v.yaml", head+"]"))
	row := strings.Fields(strings.Split(out, "\n")[2])
	check.That(t, strings.Join(row, " ") == "v 1 1 0 0 1 –" && strings.HasSuffix(errs, "mcpchain: v: more than 5 % of the trials are void: 1 of 1\n"), "got %s%s", out, errs)
}

// Trials with kept results are not run again, and the command says so.
func TestKept(t *testing.T) {
	name := write(t, "s.yaml", "name: s\nservers: {bank: {inprocess: bank}}\ntasks: [{id: a, prompt: p, script: [{say: '8'}], expect: {answer: {number: 7}}}, {id: b, prompt: p, script: [{say: x}], expect: {}}]")
	file := filepath.Join(t.TempDir(), "r.jsonl")
	notes := func(args ...string) string {
		status, _, errs := run(t, append(append([]string{"-scripted", "-results", file}, args...), name)...)
		check.That(t, status == cli.StatusFailed, "%q: got %d, %s", args, status, errs)
		return errs
	}
	got := notes()
	check.That(t, !strings.Contains(got, "from") && strings.Contains(got, "fail s/a 0: answer: "), "the first: got %s", got)
	if got := notes(); !strings.HasPrefix(got, "fail s/a 0 (from r.jsonl): answer: ") || !strings.Contains(got, "2 of 2 trials are from "+file) {
		t.Errorf("all are kept: got %s", got)
	}
	got = notes("-trials", "2")
	check.That(t, strings.Contains(got, "2 of 4 trials are from") && strings.Count(got, "(from r.jsonl)") == 1, "half of them are kept: got %s", got)
}

// The reason of a server or a model cannot control the terminal.
func TestReason(t *testing.T) {
	var b strings.Builder
	report(&b, &results.Line{Version: results.Version{Suite: "s"}, Task: "a", Outcome: results.Fail, Reason: "two\nlines\x1b[2J"}, "")
	check.Equal(t, "", b.String(), "fail s/a 0: two\nlines\\x1b[2J\n")
}

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
