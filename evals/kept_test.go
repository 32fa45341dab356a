package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/evals/agent/results"
)

// A command says which trials are of earlier commands, and what came of the ones that did not pass.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	name, file := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "r.jsonl")
	text := "name: s\ntasks: [{id: a, prompt: p, script: [{say: '8'}], expect: {answer: {number: 7}}}, {id: b, prompt: p, script: [{say: x}], expect: {}}]"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		var notes bytes.Buffer
		err := command(t.Context(), append(append([]string{"agent", "-patience", "10m", "-results", file}, args...), name), io.Discard, &notes)
		if err == nil || !strings.HasPrefix(err.Error(), "s: ") {
			t.Errorf("%q: got %v", args, err)
		}
		return notes.String()
	}
	first := run()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := results.Parse(data)
	if err != nil || len(lines) != 2 || !strings.Contains(first, "fail s/a 0: answer: ") || strings.Contains(first, "from") {
		t.Fatalf("the first: got %s, %v", first, err)
	}
	_, reason, _ := strings.Cut(first, "fail s/a 0: ")
	reason, _, _ = strings.Cut(reason, "\n")
	of := " trials are from " + file + " of " + lines[0].Date.Format("2006-01-02")
	want := "fail s/a 0 (from r.jsonl): " + reason + "\n2 of 2" + of
	if got := run(); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "; -anew runs them again\n") {
		t.Errorf("all are kept: got %s\nwant %s", got, want)
	}
	if got := run("-trials", "2"); !strings.Contains(got, "2 of 4"+of) || strings.Count(got, "(from r.jsonl)") != 1 {
		t.Errorf("half of them are kept: got %s", got)
	}
	if got := run("-trials", "2", "-anew"); strings.Contains(got, "from") {
		t.Errorf("none is kept: got %s", got)
	}
}

// Of a suite whose trials are all void there is no rate, and one line says so.
func TestAllVoid(t *testing.T) {
	dir := t.TempDir()
	name, file := filepath.Join(dir, "v.yaml"), filepath.Join(dir, "r.jsonl")
	text := "name: v\nservers: {s: {command: [/nonexistent/server]}}\ntasks: [{id: a, prompt: p, script: [{say: x}], expect: {}}]"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := command(t.Context(), []string{"agent", "-patience", "10m", "-results", file, name}, &out, io.Discard)
	if err == nil || err.Error() != "v: more than 5 % of the trials are void: 1 of 1" {
		t.Errorf("got %v", err)
	}
	row := strings.Fields(strings.Split(out.String(), "\n")[2])
	if want := []string{"v", "1", "1", "0", "0", "1", "–"}; strings.Join(row, " ") != strings.Join(want, " ") {
		t.Errorf("got %q, want %q in\n%s", row, want, out.String())
	}
	page := filepath.Join(dir, "page.html")
	if err := command(t.Context(), []string{"report", "-o", page, file}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(page); err != nil || !bytes.Contains(data, []byte("No rate of 1 tasks, 1 trials")) || bytes.Contains(data, []byte("rates of suites")) {
		t.Errorf("the page has a rate, %v", err)
	}
}

// A name of the list in place of a file, and an expression that nothing matches, are told with what is meant.
func TestNoSuite(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ args, want string }{
		{"memory", "open memory: no such file or directory; for the suite of the repository: -run '^memory/'"},
		{"bank/balance", "open bank/balance: no such file or directory; for the task of the repository: -run '^bank/balance$'"},
		{"bank/nothing", "open bank/nothing: no such file or directory"},
		{"other", "open other: no such file or directory"},
		{"-run nothing", `no suite/id matches "nothing"; see -list`},
		{"-list -run nothing", `no suite/id matches "nothing"; see -list`},
	} {
		err := command(t.Context(), strings.Fields("agent "+c.args), io.Discard, io.Discard)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.args, err, c.want)
		}
		if usage := strings.Contains(c.args, "-run"); err != nil && usage != (statusOf(err) == statusUsage) {
			t.Errorf("%s: got the status %d", c.args, statusOf(err))
		}
	}
}
