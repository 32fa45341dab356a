package suite

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

var update = flag.Bool("update", false, "write suite.schema.json")

// The published schema is that of the types.
func TestSchema(t *testing.T) {
	raw := check.Value(Schema())(t)
	var got bytes.Buffer
	check.Must(t, json.Indent(&got, raw, "", "  "))
	got.WriteByte('\n')
	if *update {
		check.Must(t, os.WriteFile("suite.schema.json", got.Bytes(), 0o644))
	}
	want, err := os.ReadFile("suite.schema.json")
	check.That(t, err == nil && bytes.Equal(got.Bytes(), want), "suite.schema.json differs, %v: write it by go test -update", err)
}

// Whatever is read, what is taken has a hash and is taken again.
func FuzzParse(f *testing.F) {
	f.Add([]byte("name: a\nservers: {s: {inprocess: files}}\ntasks: [{id: t, prompt: p, expect: {answer: {exact: x}}}]\n"))
	f.Add([]byte(`{"name":"a","tasks":[{"id":"t","prompt":"p","turns":["x"],"expect":{"state":[{"file":"x","pointer":"","equals":null}]}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			return
		}
		text := check.Value(json.Marshal(s))(t)
		again, err := Parse(text)
		check.That(t, err == nil && again.Hash() == s.Hash(), "%q became %s: %v", data, text, err)
	})
}

func TestParse(t *testing.T) {
	const good = "name: a\nservers: {s: {inprocess: files}}\ntasks: [{id: t, prompt: p, expect: {answer: {exact: x}}}]\n"
	s, err := Parse([]byte(good))
	check.Require(t, err == nil && *s.Tasks[0].Expect.Answer.Exact == "x", "got %+v, %v", s, err)
	again := check.Value(Parse([]byte("# the same\n" + good)))(t)
	check.Equal(t, "hash", again.Hash(), s.Hash())
	none := check.Value(Parse([]byte(strings.Replace(good, "prompt", "servers: [], prompt", 1))))(t)
	check.That(t, none.Hash() != s.Hash(), "a task without servers has the hash of one with all")
	check.NoError(t, check.Err(Parse([]byte("name: a\nservers: {s: {command: [x]}}\ntasks: [{id: t, prompt: p, servers: [], expect: {effects: {}}}]"))), "no servers")
	for _, bad := range []string{
		"name: a\ntasks: []",
		"name: a\ntasks: [{id: t, prompt: p, expcet: {}}]",
		"name: a\ntasks: [{id: t, expect: {}}]",
		"name: a\ntasks: [{id: t, prompt: p, expect: {}}, {id: t, prompt: p, expect: {}}]",
		"name: a\nservers: {s: {inprocess: files}}\ntasks: [{id: t, prompt: p, servers: [x], expect: {}}]",
		"name: a\nservers: {s: {}}\ntasks: [{id: t, prompt: p, expect: {}}]",
		"name: a\nservers: {s: {inprocess: files, url: x}}\ntasks: [{id: t, prompt: p, expect: {}}]",
		"name: a\ntasks: [{id: t, prompt: p, expect: {gates: [none]}}]",
		"name: a\ntasks: [{id: t, prompt: p, expect: {answer: {regex: ['(']}}}]",
		"name: a\nservers: {s: {command: [x]}}\ntasks: [{id: t, prompt: p, expect: {effects: {}}}]",
		"name: a\nservers: {s: {command: [x]}}\ntasks: [{id: t, prompt: p, servers: [s], expect: {forbidden: ['s.delete']}}]",
		"name: a\nservers: {s: {command: [x]}}\ntasks: [{id: t, prompt: p, expect: {forbidden: ['*.delete']}}]",
		"name: a\nservers: {s: {inprocess: files}}\ntasks: [{id: t, prompt: p, expect: {forbidden: ['s.[']}}]",
		"name: a\ntasks: [{id: t, prompt: p, expect: {answer: {}}}]",
		"name: a\ntasks: [{id: t, prompt: p, expect: {answer: {contains: ['']}}}]",
		"name: a\ntasks: [{id: t, prompt: p, expect: {answer: {contains: [x], tolerance: 1}}}]",
		"name: a\ntasks: [{id: t, prompt: p, expect: {budget: {}}}]",
		"name: a\ntasks: [{id: t, prompt: p, expect: {answer: {json: [{pointer: /a}]}}}]",
		"name: a\ntasks: [{id: t, prompt: p, expect: {state: [{file: a, pointer: /a}]}}]",
		"name: a\ntasks: [{id: t, prompt: p, expect: {state: [{file: a, equals: 1}]}}]",
		"name: a\ntasks: [{id: t, prompt: p, expect: {state: [{file: ../a}]}}]",
		"name: a\ntasks: [{id: t, prompt: p, expect: {state: [{file: a, absent: true, text: x}]}}]",
		"name: a\ntasks: [{id: t, prompt: p, people: {approve: [{tool: 'a[', allow: true}]}, expect: {}}]",
	} {
		check.Fails(t, check.Err(Parse([]byte(bad))), bad)
	}
}

// A mistyped key and a value of a wrong kind are told with their place, and with what is meant.
func TestMistakes(t *testing.T) {
	const good = "name: a\nservers: {s: {inprocess: files}}\n"
	for _, c := range []struct{ yaml, want string }{
		{good + "taks: []", `s.yaml:3: at "/taks": unknown key (did you mean "tasks"?); known keys: about, name, servers, tasks`},
		{good + "tasks:\n  - id: t\n    promt: p", `s.yaml:5: at "/tasks/0/promt": unknown key (did you mean "prompt"?); known keys: about, allow, `},
		{good + "tasks:\n  - id: t\n    Prompt: p", `s.yaml:5: at "/tasks/0/Prompt": unknown key (did you mean "prompt"?)`},
		{good + "tasks:\n  - {id: t, prompt: p, expect: {}}\n  - id: u\n    expect:\n      answer: {contain: [x]}", `s.yaml:7: at "/tasks/1/expect/answer/contain": unknown key (did you mean "contains"?)`},
		{"name: a\nservers:\n  s:\n    cmd: [x]\ntasks: []", `s.yaml:4: at "/servers/s/cmd": unknown key; known keys: command, env, `},
		{good + "tasks: [{id: t, zzzzzzzz: 1}]", `s.yaml:3: at "/tasks/0/zzzzzzzz": unknown key; known keys: `},
		{good + "tasks:\n- id: t\n  prompt: p\n  expect: {}\n  people:\n    forms:\n    - content: {size: M}", `s.yaml:9: at "/tasks/0/people/forms/0": missing required property "action"`},
		{good + "tasks:\n- {id: t, prompt: p, expect: {}, people: {forms: [{action: agree}]}}", `s.yaml:4: at "/tasks/0/people/forms/0/action": want one of "accept", "decline", "cancel", got string "agree"`},
		{good + "tasks:\n- {id: t, prompt: p}", `s.yaml:4: at "/tasks/0": missing required property "expect"`},
		{good + "tasks:\n- {id: t, prompt: p, expect: {state: [{file: new.txt, equals: hello}]}}", `s.yaml:4: task "t": state new.txt: pointer and equals go together; text and match are for `},
		{good + "tasks: {id: t}", `s.yaml:3: at "/tasks": want array, got object of 1`},
		{good + "tasks:\n- id: 7", `s.yaml:4: at "/tasks/0/id": want string, got number 7`},
		{good + "tasks:\n- {id: t, people: {approve: [{tool: x, allow: often}]}}", `s.yaml:4: at "/tasks/0/people/approve/0/allow": want boolean, got string "often"`},
		{good + "tasks:\n- id: t\n  expect: {answer: {number: x}}", `s.yaml:5: at "/tasks/0/expect/answer/number": want number, got string "x"`},
		{good + "tasks:\n- {id: t, prompt: p, expect: {}}\n- prompt: p\n  id: t\n  expect: {}", `s.yaml:5: task "t": the id is used twice; each task needs its own`},
		{good + "tasks:\n- {id: '', prompt: p, expect: {}}", `s.yaml:4: tasks[0] has no id`},
		{"name: a\nservers: {s: {command: [x]}}\ntasks:\n- {id: t, prompt: p, expect: {}}\n- &u\n  id: u\n  prompt: p\n  servers: [s]\n  expect: {effects: {s.x: 1}}",
			`s.yaml:5: task "u": effects: only servers in process count them, and server "s" does not run in process: use state or calls`},
		{"name: a\nservers:\n  s:\n    inprocess: many\n    tools: -1\ntasks: []", `s.yaml:5: at "/servers/s/tools": want a number >= 0, got number -1`},
		{"x: &x {id: t}\nname: a", `s.yaml:1: at "/x": unknown key`},
		{"name: a\ntasks: [", "s.yaml:2: sequence end token ']' not found"},
		{"name: a\n\tb: c", "s.yaml:2: found character '\t' that cannot start any token"},
		{"name: a\nname: b", `s.yaml:2: mapping key "name" already defined at [1:1]`},
		{"name: a\nabout: *x", `s.yaml:2: could not find alias "x"`},
		{"name: a\n<<: 1", "s.yaml:2: int was used where mapping is expected"},
		{"name: a\nservers:\n  s: {inprocess: files}\n  a/b: {}\ntasks: [{id: t, prompt: p, expect: {}}]", `s.yaml:4: server "a/b": want one of inprocess, command and url`},
		{"name: a\ntasks: []", `s.yaml:1: a suite has a name and at least one task`},
	} {
		_, err := parseNamed("s.yaml", []byte(c.yaml))
		check.That(t, err != nil && strings.HasPrefix(err.Error(), c.want) && !strings.Contains(err.Error(), "\n"), "%s\ngot  %v\nwant %s", c.yaml, err, c.want)
	}
}

// Anchors, aliases and merged members are no unknown keys.
func TestAnchors(t *testing.T) {
	s, err := Parse([]byte("name: a\ntasks:\n- &t {id: t, prompt: p, turns: &l [x], expect: {}}\n- {<<: *t, id: u, turns: *l}\n"))
	check.That(t, err == nil && len(s.Tasks) == 2 && s.Tasks[1].Prompt == "p" && s.Tasks[1].Turns[0] == "x", "got %+v, %v", s, err)
}
