package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Without a command, and when asked for help, the program lists its commands with a sentence each.
func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"help"}, {"-h"}, {"-help"}, {"--help"}} {
		var out, notes bytes.Buffer
		err := command(t.Context(), args, &out, &notes)
		text, want := out.String(), 0
		if args == nil { // a mistake is told beside the results
			text, want = notes.String(), statusUsage
		}
		if status := statusOf(err); status != want {
			t.Errorf("%q: got the status %d, want %d", args, status, want)
		}
		for _, c := range commands() {
			line, _, _ := strings.Cut(text[strings.Index(text, "\n  "+c.name)+1:], "\n")
			if !strings.HasPrefix(line, "  "+c.name) || !strings.HasSuffix(line, " "+c.sentence) || len(strings.Fields(c.sentence)) < 5 {
				t.Errorf("%q: got %q, want %s with a sentence", args, line, c.name)
			}
		}
	}
	for args, want := range map[string]string{
		"agnt":          `there is no command "agnt"; did you mean "agent"? use one of agent, conformance, `,
		"nothing":       `there is no command "nothing"; use one of `,
		"help nothing":  `there is no command "nothing"; use one of `,
		"agent -x":      "flag provided but not defined: -x",
		"agent -run (":  "error parsing regexp",
		"agent -record": "a live model",
		"bench -x":      "flag provided but not defined: -x",
		"report":        "name the files",
	} {
		err := command(t.Context(), strings.Fields(args), io.Discard, io.Discard)
		if statusOf(err) != statusUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v and the status %d, want %q and %d", args, err, statusOf(err), want, statusUsage)
		}
	}
	t.Chdir(t.TempDir())
	if err := command(t.Context(), []string{"interop"}, io.Discard, io.Discard); statusOf(err) != statusUsage || !strings.Contains(err.Error(), "root of the repository") {
		t.Errorf("in another folder: got %v and the status %d, want %d", err, statusOf(err), statusUsage)
	}
	if err := command(t.Context(), []string{"agent", "nonexistent.yaml"}, io.Discard, io.Discard); statusOf(err) != statusFailed {
		t.Errorf("a file that is not there: got %v and the status %d, want %d", err, statusOf(err), statusFailed)
	}
}

// The help of each command says what it is for, its flags, and its exit statuses.
func TestHelp(t *testing.T) {
	for _, c := range commands() {
		for _, args := range [][]string{{c.name, "-help"}, {c.name, "-h"}, {"help", c.name}} {
			var out, notes bytes.Buffer
			if err := command(t.Context(), args, &out, &notes); statusOf(err) != 0 {
				t.Errorf("%q: got %v", args, err)
			}
			text := out.String() + notes.String()
			for _, want := range []string{"usage: go run ./evals " + c.name + " ", "\n\nExit status: 0 if ", "; 1 if ", "; 2 if the command line is wrong.\n", "\n  -"} {
				if !strings.Contains(text, want) {
					t.Errorf("%q: got %s\nwant it with %q", args, text, want)
				}
			}
			purpose := strings.Split(text, "\n")[2]
			if !strings.HasPrefix(strings.ToLower(strings.TrimPrefix(purpose, "The command ")), c.name+" ") {
				t.Errorf("%q: got %q, want what it is for", args, purpose)
			}
		}
	}
}

// A list has each suite and each task that is chosen, and nothing runs.
func TestList(t *testing.T) {
	name := filepath.Join(t.TempDir(), "s.yaml")
	text := "name: s\nabout: Small.\nservers: {gone: {command: [/nonexistent]}}\ntasks:\n" +
		"- {id: one, prompt: \"first\\nline\", expect: {}}\n- {id: second, prompt: " + strings.Repeat("x", 100) + ", expect: {}}\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{name}, "s: Small.\n  s/one     first line\n  s/second  " + strings.Repeat("x", 79) + "…\n"},
		{[]string{"-run", "/one$", name}, "s: Small.\n  s/one  first line\n"},
		{[]string{"-run", "^bank/balance$"}, "bank: Effects that must happen once, approvals, and processes that die.\n  bank/balance  How much does Ada have?\n"},
	} {
		var out, notes bytes.Buffer
		err := command(t.Context(), append([]string{"agent", "-list"}, c.args...), &out, &notes)
		if err != nil || out.String() != c.want || notes.Len() > 0 {
			t.Errorf("%q: got %s%s, %v\nwant %s", c.args, out.String(), notes.String(), err, c.want)
		}
	}
}

// A path of a suite is found from the folder of its file, whatever folder the program is run in. The
// server runs in the directory of the trial.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"bin", "suites"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range []string{"bin/todo-server", "suites/todo-server"} {
		if err := os.Symlink(self, filepath.Join(dir, server)); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range []string{"./todo-server", "../bin/todo-server", "/usr/bin/env, ./todo-server", "/usr/bin/env, ../bin/todo-server"} {
		text := "name: s\nservers: {todo: {command: [" + program + "], env: {TODO_FILE: todo.json}, seed: {todo.json: '[\"milk\"]'}}}\n" +
			"tasks: [{id: a, prompt: p, script: [{calls: [{tool: list_items}]}, {sees: [milk], say: x}], expect: {}}]\n"
		name := filepath.Join(dir, "suites", "s.yaml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for cwd, name := range map[string]string{t.TempDir(): name, dir: "suites/s.yaml"} {
			t.Chdir(cwd)
			var notes bytes.Buffer
			if err := command(t.Context(), []string{"agent", "-patience", "10m", name}, io.Discard, &notes); err != nil {
				t.Errorf("%s in %s: got %s, %v", program, cwd, notes.String(), err)
			}
		}
	}
}

// A table with void trials says what made them void, and what to do.
func TestVoid(t *testing.T) {
	name := filepath.Join(t.TempDir(), "v.yaml")
	text := "name: v\nservers: {s: {command: [/nonexistent/server]}}\ntasks: [{id: a, prompt: p, script: [{say: x}], expect: {}}, " +
		"{id: b, servers: [], prompt: p, script: [{say: x}], expect: {}}]"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, notes bytes.Buffer
	err := command(t.Context(), []string{"agent", "-patience", "10m", name}, &out, &notes)
	if statusOf(err) != statusFailed || !strings.Contains(notes.String(), "void v/a 0: ") || !strings.Contains(notes.String(), `start "/nonexistent/server"`) || strings.Contains(notes.String(), "Options.") {
		t.Errorf("got %s and %v, want the reason", notes.String(), err)
	}
	for _, want := range []string{
		"v: the rate leaves out void trials; it is 50.0% if they had failed, 100.0% if they had passed\n",
		"v: a void trial says nothing of the agent (1 × harness: a server, a cassette or the program itself failed); mend the reason that was told with it, and run the command again\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %s\nwant it with %s", out.String(), want)
		}
	}
}
