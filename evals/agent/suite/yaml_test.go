package suite

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write suite.schema.json")

// The published schema is that of the types.
func TestSchema(t *testing.T) {
	raw, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, raw, "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	if *update {
		if err := os.WriteFile("suite.schema.json", got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("suite.schema.json")
	if err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("suite.schema.json differs, %v: write it by go test -update", err)
	}
}

// Whatever is read, what is taken has a hash and is taken again.
func FuzzParse(f *testing.F) {
	f.Add([]byte("name: a\nservers: {s: {inprocess: files}}\ntasks: [{id: t, prompt: p, expect: {answer: {exact: x}}}]\n"))
	f.Add([]byte(`{"name":"a","tasks":[{"id":"t","prompt":"p","kills":[1],"expect":{"state":[{"file":"x","pointer":"","equals":null}]}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			return
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Parse(text); err != nil || again.Hash() != s.Hash() {
			t.Errorf("%q became %s: %v", data, text, err)
		}
	})
}

func TestParse(t *testing.T) {
	const good = "name: a\nservers: {s: {inprocess: files}}\ntasks: [{id: t, prompt: p, expect: {answer: {exact: x}}}]\n"
	s, err := Parse([]byte(good))
	if err != nil || *s.Tasks[0].Expect.Answer.Exact != "x" {
		t.Fatalf("got %+v, %v", s, err)
	}
	again, err := Parse([]byte("# the same\n" + good))
	if err != nil || again.Hash() != s.Hash() {
		t.Errorf("got hash %s, %v, want %s", again.Hash(), err, s.Hash())
	}
	for _, bad := range []string{
		"name: a\ntasks: []",
		"name: a\ntasks: [{id: t, prompt: p, expcet: {}}]",
		"name: a\ntasks: [{id: t, expect: {}}]",
		"name: a\ntasks: [{id: t, prompt: p, expect: {}}, {id: t, prompt: p, expect: {}}]",
		"name: a\ntasks: [{id: t, prompt: p, servers: [x], expect: {}}]",
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
		"name: a\ntasks: [{id: t, prompt: p, expect: {answer: {json: [{pointer: /a}]}}}]",
		"name: a\ntasks: [{id: t, prompt: p, expect: {state: [{file: a, pointer: /a}]}}]",
		"name: a\ntasks: [{id: t, prompt: p, expect: {state: [{file: a, equals: 1}]}}]",
		"name: a\ntasks: [{id: t, prompt: p, expect: {state: [{file: ../a}]}}]",
		"name: a\ntasks: [{id: t, prompt: p, expect: {state: [{file: a, absent: true, text: x}]}}]",
		"name: a\ntasks: [{id: t, prompt: p, people: {approve: [{tool: 'a[', allow: true}]}, expect: {}}]",
		"name: a\nservers: {s: {command: [x]}}\ntasks: [{id: t, prompt: p, kills: [1], expect: {}}]",
		"name: a\nservers: {s: {command: [x]}}\ntasks: [{id: t, prompt: p, suspend: true, expect: {}}]",
	} {
		if _, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}
