package jsonrpc

import (
	"bytes"
	"encoding/json"
	"slices"
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

func TestSplit(t *testing.T) {
	const a, b = `{"id":1,"result":{}}`, `{"id":2,"result":{}}`
	for _, tt := range []struct {
		text     string
		messages []string
		rest     string
		noisy    bool
	}{
		{a, nil, a, false},
		{"[" + a + "]", nil, "[" + a + "]", false},
		{a + b, []string{a, b}, "", false},
		{a + " " + b + " ", []string{a, b}, "", false},
		{a + "[" + b + "]", []string{a, "[" + b + "]"}, "", false},
		{"Loading… " + a, []string{a}, "", true},
		{"[INFO] " + a, []string{a}, "", true},
		{"[INFO] [[" + a + "]]", []string{"[[" + a + "]]"}, "", true},
		{"\x1b[0m" + a + "\x1b[0m", []string{a}, "", true},
		{a + "Done. " + b, []string{a, b}, "", true},
		{a + `{"id":2,`, []string{a}, `{"id":2,`, false},
		{"sent: " + `{"id":2,`, nil, `{"id":2,`, true},
		{a + "},1]", nil, a + "},1]", false},
		{`"text": ` + a, nil, "", true},
		{a + `"text": ` + b, nil, a + `"text": ` + b, false},
		{a + `says "text": ` + b, []string{a}, "", true},
		{"[INFO] running", nil, "", true},
		{"", nil, "", false},
		{a + a + a + a, []string{a, a, a}, a, false},
		{a + a + a + "Done. " + a + b, []string{a, a, a}, a + b, true},
		{a + a + a + " ", []string{a, a, a}, "", false},
	} {
		messages, rest, noisy := Split([]byte(tt.text), 3)
		var got []string
		for _, m := range messages {
			got = append(got, string(m))
		}
		check.That(t, slices.Equal(got, tt.messages) && string(rest) == tt.rest && noisy == tt.noisy,
			"%s: got %q, %q, %t, want %q, %q, %t", tt.text, got, rest, noisy, tt.messages, tt.rest, tt.noisy)
	}
}

func TestTrailingResponse(t *testing.T) {
	const answer = `{"id":1,"result":{}}`
	for _, tt := range []struct{ line, want string }{
		{"Loading… " + answer, answer},
		{"Loading… " + answer + " Done.", answer + " Done."},
		{`received {"id":1,"method":"ping"}`, ""},
		{`error {"id":null,"error":{}}`, ""},
		{`sent {"id":1,"result":{"x`, ""},
		{`sent ` + answer + "}", ""},
		{`"x": ` + answer, ""},
		{"Listening", ""},
	} {
		check.Equal(t, tt.line, string(TrailingResponse([]byte(tt.line))), tt.want)
	}
}

// FuzzSplit checks that every message found in a text is JSON, and a part of the text, in order.
func FuzzSplit(f *testing.F) {
	for _, s := range documents {
		f.Add([]byte(s))
		f.Add([]byte(s + s))
		f.Add([]byte("\f" + s + "\f"))
		f.Add([]byte("[INFO] " + s + "\x1b[0m" + s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 5
		messages, rest, _ := Split(data, most)
		check.That(t, len(messages) <= most, "%q: got %d messages, want at most %d", data, len(messages), most)
		left := data
		for _, m := range messages {
			check.That(t, json.Valid(m) && len(m) != len(bytes.Trim(data, blanks)), "%q: got %q, want a message that is a part of it", data, m)
			_, after, ok := bytes.Cut(left, m)
			left = after
			check.That(t, ok, "%q: got %q out of its turn", data, m)
		}
		check.That(t, bytes.HasSuffix(left, rest), "%q: got the rest %q, want the end of %q", data, rest, left)
		response := TrailingResponse(data)
		check.That(t, response == nil || bytes.HasSuffix(data, response), "%q: got %q, want its end", data, response)
		BrokenMembers(data, func(_, value []byte) {
			check.That(t, bytes.Contains(data, value), "%q: got the value %q", data, value)
		})
	})
}
