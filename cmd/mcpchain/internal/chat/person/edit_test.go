package person

import (
	"encoding/json"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/typist"
	"github.com/mcpchain/mcpchain/internal/check"
)

// The person is told where arguments are invalid.
func TestMisfit(t *testing.T) {
	const inputSchema = `{"type":"object","required":["a"],"properties":{"a":{"type":"integer"},"l":{"items":{"properties":{"x/~":{"type":"string"}}}}}}`
	for text, want := range map[string]string{
		`{"a": 1}`:                   "",
		"{\"a\": 1,\n é}":            "line 2, column 2: want a JSON object: invalid character 'Ã' looking for beginning of object key string",
		"{\"é\": x}":                 "line 1, column 7: want a JSON object: invalid character 'x' looking for beginning of value",
		"{\n":                        "line 1, column 2: want a JSON object: unexpected end of JSON input",
		"":                           "line 1, column 1: want a JSON object: unexpected end of JSON input",
		"\n [1]":                     "line 2, column 2: want a JSON object, in braces",
		"null":                       "line 1, column 1: want a JSON object, in braces",
		"{\n\"b\": \"x\"}":           `line 1, column 1: missing required property "a"`,
		"{\n  \"a\": \"x\"}":         `line 2, column 8: at "/a": want integer, got string "x"`,
		"{\"a\": \"\\ud800\xff\"}":   `line 1, column 7: at "/a": want integer, got string "��"`,
		"{\"a\": 1,\n \"a\": \"x\"}": `line 2, column 7: at "/a": want integer, got string "x"`,
		"{\"a\": 1,\n \"l\": [1, {}, {\"x/~\": 1}, 2, {\"x/~\": 1}], \"x\": []}": `line 2, column 23: at "/l/2/x~1~0": want string, got number 1`,
		"{\"a\":1, \"l\":\n[0, {\"y\":[1,{}], \"x/~\":\n 7}]}":                   `line 3, column 2: at "/l/1/x~1~0": want string, got number 7`,
	} {
		got := ""
		if err := checkArguments(json.RawMessage(inputSchema), text); err != nil {
			got = err.Error()
		}
		check.Equal(t, text, got, want)
	}
}

// A call whose arguments are not JSON can be answered.
func TestApproveBrokenArguments(t *testing.T) {
	a := asks("add")
	a.Arguments = nil
	s := typist.New(t, "e", "{}")
	if d, err := newPerson(s).Approve(inTurn(t), a); err != nil || string(d.Arguments) != "{}" {
		t.Errorf("got %+v, %v; want the arguments that were written", d, err)
	}
}
