package jsonrpc

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestBrokenMembers(t *testing.T) {
	for _, tt := range []struct {
		text string
		want string // names and values, a blank after each
	}{
		{`{"jsonrpc":"2.0","id":12,"result":{"content":[{"ty`, `jsonrpc "2.0" id 12 result  `},
		{`{"result":{"id":5},"jsonrpc":"2.0","id":8,"x":"`, `result  jsonrpc "2.0" id 8 x  `},
		{`{"result":{"a":tru,"b":[1 2]},"id":8}`, `result  id 8 `},
		{`{ "id" : "a\"b" , "result" : }`, `id "a\"b" result  `},
		{`{"id":1,"id":2}`, `id 1 id 2 `},
		{`{"method":"id","x":["id",1],"id":{"id":3}}`, `method "id" x  id  `},
		{`{"jsonrpc":"2.0","id":12`, `jsonrpc "2.0" id  `}, // the number may be longer
		{`["id",1]`, ""},
		{`}}{"id":1`, ""},
		{`noise`, ""},
		{``, ""},
	} {
		got := ""
		BrokenMembers([]byte(tt.text), func(key, value []byte) { got += string(key) + " " + string(value) + " " })
		check.Equal(t, tt.text, got, tt.want)
	}
}

func TestCutResponse(t *testing.T) {
	const answer = `{"id":1,"result":{}}`
	for text, want := range map[string]string{
		"Loading… " + answer:                "Loading… |" + answer,
		"Loading… " + answer + " Done.":     "Loading… |" + answer,
		`received {"id":1,"method":"ping"}`: "|",
		`error {"id":null,"error":{}}`:      "|",
		`sent {"id":1,"result":{"x`:         "|",
		"sent " + answer + "}":              "|",
		`"x": ` + answer:                    "|",
		"Listening":                         "|",
	} {
		before, response := CutResponse([]byte(text))
		check.Equal(t, text, string(before)+"|"+string(response), want)
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range documents {
		f.Add([]byte(s + s))
		f.Add([]byte("[INFO] " + s + "\x1b[0m"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 5
		messages := Split(data, most)
		check.That(t, len(messages) <= most && len(messages) != 1, "%q: got %d messages, want none or up to %d", data, len(messages), most)
		left := data
		for _, m := range messages {
			_, after, ok := bytes.Cut(left, m)
			left = after
			check.That(t, ok && json.Valid(m), "%q: got %q out of its turn", data, m)
		}
		before, response := CutResponse(data)
		check.That(t, bytes.HasPrefix(data, before) && bytes.Contains(data, response), "%q: got %q and %q", data, before, response)
	})
}
