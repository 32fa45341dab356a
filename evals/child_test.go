package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/trial"
	"github.com/mcpchain/mcpchain/evals/check"
)

func TestMain(m *testing.M) {
	trial.Main()
	if filepath.Base(os.Args[0]) == "todo-server" { // of the guide
		if err := serveTodo(os.Getenv("TODO_FILE")); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// The output of each program becomes checks.
func TestReader(t *testing.T) {
	for _, c := range []struct {
		kind, output string
		want         []check.Check
	}{
		{"interop", `{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA/x","Output":"broken\n"}
{"Action":"fail","Test":"TestA/x","Elapsed":2}
{"Action":"output","Test":"TestB","Output":"fine\n"}
{"Action":"pass","Test":"TestB"}
{"Action":"pass"}
`, []check.Check{{Name: "TestA/x", Outcome: check.Fail, Text: "broken\n", Seconds: 2}, {Name: "TestB", Outcome: check.Pass}}},
		{"bench", `{"cell":"pipe/small","client":"ours","cpu_ratio":1.5}` + "\n", []check.Check{{Name: "pipe/small", Subject: "ours"}}},
		{"loop", "  native/1          CPU ÷ the best peer's             0.31 ±2% ≤ 0.5        ok\n  go-sdk/8          CPU ÷ (0.7 peer + 0.3 server)       1.2 ±1% ≤ 1          MISSED\nsummary\n", []check.Check{
			{Name: "native/1 CPU ÷ the best peer's", Outcome: check.Pass, Text: "0.31 ±2% ≤ 0.5"},
			{Name: "go-sdk/8 CPU ÷ (0.7 peer + 0.3 server)", Outcome: check.Fail, Text: "1.2 ±1% ≤ 1"}}},
		{"chaos", "store file: 1 runs\nkeys      20 calls: lost 0 doubled 0 silent 0, in doubt 0\nplain     20 calls: lost 0 doubled 1 silent 0, in doubt 0\n", []check.Check{
			{Name: "keys", Outcome: check.Pass, Text: "keys      20 calls: lost 0 doubled 0 silent 0, in doubt 0"},
			{Name: "plain", Outcome: check.Fail, Text: "plain     20 calls: lost 0 doubled 1 silent 0, in doubt 0"}}},
		{"chaos", "temporal: 8 runs, 2 workers, 4 kills\nlost 0 doubled 0 silent 0\nlost 1 doubled 0 silent 0\n", []check.Check{
			{Name: "all", Outcome: check.Pass, Text: "lost 0 doubled 0 silent 0"},
			{Name: "all", Outcome: check.Fail, Text: "lost 1 doubled 0 silent 0"}}},
	} {
		file := filepath.Join(t.TempDir(), "r.jsonl")
		keep, err := begin(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := &reader{out: io.Discard, notes: io.Discard, keep: keep, commit: "c", output: map[string]*bytes.Buffer{}}
		for i := range childCommands {
			if childCommands[i].kind == c.kind {
				r.childCommand = &childCommands[i]
			}
		}
		if err := r.all(strings.NewReader(c.output)); err != nil {
			t.Fatal(err)
		}
		if err := keep.Close(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if kept, err2 := check.Parse(data); err != nil || err2 != nil || !reflect.DeepEqual(kept, r.checks) {
			t.Errorf("%s: the file has %s, %v, %v", c.kind, data, err, err2)
		}
		if len(r.checks) != len(c.want) {
			t.Errorf("%s: got %d checks, want %d", c.kind, len(r.checks), len(c.want))
			continue
		}
		for i, got := range r.checks {
			w := c.want[i]
			if got.Kind != c.kind || got.Commit != "c" || got.Name != w.Name || got.Subject != w.Subject || got.Outcome != w.Outcome || got.Text != w.Text || got.Seconds != w.Seconds {
				t.Errorf("%s: got %+v, want %+v", c.kind, got, w)
			}
		}
	}
}

// Tests that have passed at this commit are skipped when a command begins again. Failed ones are not,
// nor one that was cut by a kill, nor one that passed at another commit.
func TestSkipsWhatHasPassed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	lines := `{"kind":"interop","name":"TestA/x","outcome":"fail","commit":"c"}
{"kind":"interop","name":"TestA","outcome":"fail","commit":"c"}
{"kind":"interop","name":"TestB","outcome":"pass","commit":"c"}
{"kind":"interop","name":"TestC/y","outcome":"pass","commit":"c"}
{"kind":"interop","name":"TestC","outcome":"pass","commit":"c"}
{"kind":"interop","name":"TestOld","outcome":"pass","commit":"b"}
{"kind":"interop","name":"TestUnknown","outcome":"pass"}
{"kind":"interop","name":"TestCut/z","outcome":"pass","commit":"c"}
{"kind":"interop","name":"Tes`
	if err := os.WriteFile(name, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := childCommands[1].before(&childFlags{results: name}, "c")
	if err != nil || len(all) != 3 || skipped(all) != "^(TestB|TestC)$" {
		t.Errorf("got %d checks and -skip %s, %v", len(all), skipped(all), err)
	}
	if all, err := childCommands[1].before(&childFlags{results: name}, ""); err != nil || len(all) != 0 {
		t.Errorf("with changes that are not committed: got %d checks, %v", len(all), err)
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		outcomes []check.Outcome
		ok       bool
	}{
		{nil, false}, {[]check.Outcome{check.Pass, check.Skip}, true}, {[]check.Outcome{""}, true},
		{[]check.Outcome{check.Skip, check.Skip}, false}, {[]check.Outcome{check.Pass, check.Fail}, false},
	} {
		var all []*check.Check
		for _, o := range c.outcomes {
			all = append(all, &check.Check{Outcome: o})
		}
		if err := verdict("k", all, io.Discard, false); (err == nil) != c.ok {
			t.Errorf("%q: got %v", c.outcomes, err)
		}
	}
}

// The command runs a suite, keeps its results, skips what it has, and writes a page.
func TestAgentCommand(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "agent.jsonl")
	for round := range 2 {
		var out, notes bytes.Buffer
		err := command(t.Context(), []string{"agent", "-patience", "10m", "-run", "^files/", "-results", file, "-junit", filepath.Join(dir, "j.xml")}, &out, &notes)
		if err != nil || !strings.Contains(out.String(), "scripted: model scripted") || !strings.Contains(out.String(), "100.0%") {
			t.Errorf("round %d: got %s\n%s, %v", round, out.String(), notes.String(), err)
		}
		if ran := strings.Contains(notes.String(), " trials, "); ran != (round == 0) {
			t.Errorf("round %d: got %s", round, notes.String())
		}
	}
	var out bytes.Buffer
	if err := command(t.Context(), []string{"agent", "-patience", "10m", "-run", "^files/", "-model", "random", "-least", "0", "-against", file}, &out, io.Discard); !errors.Is(err, results.ErrMixed) {
		t.Errorf("a baseline against scripts: got %v, %s", err, out.String())
	}
	if err := command(t.Context(), []string{"agent", "-patience", "10m", "-run", "^files/", "-against", file}, &out, io.Discard); err != nil || !strings.Contains(out.String(), "not told apart") {
		t.Errorf("scripts against themselves: got %v, %s", err, out.String())
	}
	page := filepath.Join(dir, "page.html")
	if err := command(t.Context(), []string{"report", "-o", page, file}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(page)
	if err != nil || !bytes.Contains(data, []byte("oldest")) {
		t.Errorf("the page lacks a task, %v", err)
	}
}

// Results of another version of a suite do not count, and -anew runs again what has a line.
func TestOldResults(t *testing.T) {
	dir := t.TempDir()
	name, file := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "r.jsonl")
	for _, c := range []struct {
		say  string
		args []string
		ran  bool
		want string // of the error
	}{
		{"8", nil, true, "s: 1 of 1 trials failed"},
		{"8", nil, false, "s: 1 of 1 trials failed"},
		{"7", nil, true, ""},
		{"7", nil, false, ""},
		{"7", []string{"-anew"}, true, ""},
	} {
		text := "name: s\ntasks: [{id: a, prompt: p, script: [{say: '" + c.say + "'}], expect: {answer: {number: 7}}}]"
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var notes bytes.Buffer
		err := command(t.Context(), append(append([]string{"agent", "-patience", "10m", "-results", file}, c.args...), name), io.Discard, &notes)
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%+v: got %v", c, err)
		}
		if ran := strings.Contains(notes.String(), "1 of 1 trials, "); ran != c.ran {
			t.Errorf("%+v: got %s", c, notes.String())
		}
	}
}

// What cannot be scored is an error that says so.
func TestRefusals(t *testing.T) {
	prices, void := filepath.Join(t.TempDir(), "prices.json"), filepath.Join(t.TempDir(), "void.yaml")
	for name, text := range map[string]string{
		prices: `{"date":"2026-11-01","models":[{"model":"other","currency":"USD","input":1,"output":1}]}`,
		void: "name: v\nservers: {s: {command: [/nonexistent/server]}}\ntasks: [{id: a, prompt: p, script: [{say: x}], expect: {}}, " +
			"{id: b, servers: [], prompt: p, script: [{say: x}], expect: {}}]",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"nothing"}, "there is no command"},
		{[]string{"agent", "-model", "nothing"}, "there is no model"},
		{[]string{"agent", "-run", "^nothing$"}, `no suite/id matches "^nothing$"; see -list`},
		{[]string{"agent", "-json", "-run", "^nothing$"}, `no suite/id matches "^nothing$"; see -list`},
		{[]string{"agent", "-json", "-against", "x"}, "leave out -json"},
		{[]string{"agent", "-run", "^files/read$", "-pass-at", "2"}, "files: pass@2: a task has 1 trials that count, and k is 2"},
		{[]string{"agent", "-record", "-cassettes", "x"}, "a live model"},
		{[]string{"agent", "-recorded-servers"}, "recorded model"},
		{[]string{"agent", "-prices", prices, "-run", "^files/read$"}, "the prices of 2026-11-01 have none of the model scripted"},
		{[]string{"agent", void}, "more than 5 % of the trials are void: 1 of 2"},
		{[]string{"agent", "-model", "live"}, "a name and a base URL"},
		{[]string{"report"}, "name the files"},
	} {
		if err := command(t.Context(), c.args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.args, err, c.want)
		}
	}
}
