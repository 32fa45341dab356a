package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestDecoder(t *testing.T) {
	d := NewDecoder([]byte(` {"skipped":[1,{"name":"x"}],"name":"a\nb","tags":["p",2,{"q":3}],"rest" : {"r": 1} } `), 3)
	var name, rest string
	var tags []string
	for key := range d.Members {
		switch string(key) {
		case "name":
			name, _ = d.String()
		case "tags":
			for i := range d.Elements {
				if i == 1 {
					continue
				}
				tags = append(tags, string(d.Raw()))
			}
		case "rest":
			start := d.Offset()
			for range d.Members {
			}
			rest = string(d.Since(start))
		}
	}
	check.That(t, d.Err() == nil && name == "a\nb" && strings.Join(tags, " ") == `"p" {"q":3}` && rest == `{"r": 1}`,
		"got %q, %q, %q, %v", name, tags, rest, d.Err())
}

func TestDecoderFails(t *testing.T) {
	mine := errors.New("mine")
	for _, tt := range []struct {
		name, in, want string
		read           func(d *Decoder)
	}{
		{"not an object", `[1]`, `want '{'`, func(d *Decoder) {
			for range d.Members {
			}
		}},
		{"too many elements", `[1,2,3,4]`, "more than 3 elements", func(d *Decoder) {
			for range d.Elements {
			}
		}},
		{"too many elements in all", `[` + strings.Repeat(`[1,2,3],`, 10) + `[]]`, "more than 3", func(d *Decoder) {
			for range d.Elements {
			}
		}},
		{"too many elements in all of several", `{` + strings.Repeat(`"a":[1,2,3],`, 10) + `"b":[1]}`, "more than 30 elements in all", func(d *Decoder) {
			for range d.Members {
				for range d.Elements {
				}
			}
		}},
		{"too many elements within", `[1]`, "more than 30 elements in all", func(d *Decoder) {
			for range 10 {
				if err := d.Within([]byte(`[1,2,3]`), func(inner *Decoder) {
					for range inner.Elements {
					}
				}); err != nil {
					d.Fail(errors.New("too early"))
				}
			}
			for range d.Elements {
			}
		}},
		{"too many elements for others", `[1]`, "more than 30 elements in all", func(d *Decoder) {
			d.Spend([]byte(`[` + strings.Repeat("1,", 29) + `1]`))
			for range d.Elements {
			}
		}},
		{"in a skipped value", `{"a":[1,}`, "want a value", func(d *Decoder) {
			for range d.Members {
			}
		}},
		{"inner error ends the outer loop", `[[1,2],[3]]`, "mine", func(d *Decoder) {
			for range d.Elements {
				for range d.Elements {
					d.Fail(mine)
				}
				d.Fail(errors.New("a later error"))
			}
		}},
		{"a loop that is left", `[1,2]`, "not read to the end", func(d *Decoder) {
			for range d.Elements {
				break
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := NewDecoder([]byte(tt.in), 3)
			tt.read(&d)
			check.That(t, d.Err() != nil && strings.Contains(d.Err().Error(), tt.want), "got %v, want an error with %q", d.Err(), tt.want)
			check.That(t, d.Raw() == nil && d.Kind() == 0, "something can be read after an error")
		})
	}
}

func TestDecoderAllocatesNothing(t *testing.T) {
	data := []byte(`{"content":[{"type":"text","text":"hello"}],"isError":false}`)
	n := testing.AllocsPerRun(100, func() {
		d, found := NewDecoder(data, 10), 0
		for key := range d.Members {
			if string(key) != "content" {
				continue
			}
			for range d.Elements {
				for range d.Members {
					found += len(d.Raw())
				}
			}
		}
		if d.Err() != nil || found != 13 {
			t.Fatal(d.Err(), found)
		}
	})
	check.Equal(t, "allocations", n, 0)
}

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

// documents are JSON, or look like JSON.
var documents = []string{
	`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a\n\u00e9\ud83d\ude00"}],"isError":false}}`,
	`[{"method":"n"},[],{},[[1,-0.5e+7,true,false,null]]]`, `{"a":1,"a":2,"":{"\u0061":[]}}`, ` "x" `, `-0`, `01`, `1.`, `+1`, `.5`, `1e`, `tru`,
	`nul`, `"\q"`, `"\u12g4"`, "\"a\nb\"", "\"\xff\"", `{"a"}`, `{"a":}`, `{,}`, `[1,]`, `[}`, `{]`, `[1 2]`, `{}{}`, "\uFEFF{}", "",
	`"12345678\"`, `"1234567\"8"`, `{"aaaaaaaaaaaaaaaa":"bbbbbbbbbbbbbbbb\\"}`,
}

// depth is the nesting of a valid JSON document.
func depth(data []byte) (deepest int) {
	open := 0
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		token, err := d.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			open++
			deepest = max(deepest, open)
		case json.Delim('}'), json.Delim(']'):
			open--
		}
	}
}

// FuzzValue compares the scanner with encoding/json: it accepts exactly valid JSON, up to its bound on nesting.
func FuzzValue(f *testing.F) {
	for _, s := range documents {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := scanner{data: data}
		err := s.value()
		if s.space(); err == nil && s.pos != len(data) {
			err = fmt.Errorf("text behind byte %d", s.pos)
		}
		check.Equal(t, string(data), err == nil, json.Valid(data) && depth(data) <= MaxDepth)
	})
}

// decode reads any value by a Decoder. Each bit of how decides on a member or
// element: in pieces, or raw and then by encoding/json.
func decode(d *Decoder, how *uint64) any {
	raw := *how&1 == 1
	*how >>= 1
	switch kind := d.Kind(); {
	case raw || kind != '{' && kind != '[' && kind != '"':
		var v any
		if text := d.Raw(); text != nil {
			d.Fail(json.Unmarshal(text, &v))
		}
		return v
	case kind == '"':
		s, ok := d.String()
		if !ok {
			d.Fail(fmt.Errorf("no string"))
		}
		return s
	case kind == '{':
		m := map[string]any{}
		for key := range d.Members {
			name := string([]rune(string(key))) // as encoding/json decodes invalid UTF-8
			m[name] = decode(d, how)
		}
		return m
	}
	a := []any{}
	for i := range d.Elements {
		if i != len(a) {
			d.Fail(fmt.Errorf("element %d came as %d", len(a), i))
		}
		a = append(a, decode(d, how))
	}
	return a
}

// FuzzDecoder compares the Decoder with encoding/json, with the text read in any pieces.
func FuzzDecoder(f *testing.F) {
	for i, s := range documents {
		f.Add([]byte(s), uint64(i)*0x9E3779B97F4A7C15)
	}
	f.Fuzz(func(t *testing.T, data []byte, how uint64) {
		d := NewDecoder(data, 1000)
		got := decode(&d, &how)
		if !json.Valid(data) || depth(data) > MaxDepth/2 {
			d.Kind()
			check.That(t, d.Err() != nil || d.Offset() != len(data), "%q: got no error", data)
			return
		}
		var want any
		switch err := json.Unmarshal(data, &want); {
		case err != nil: // a number that no float can hold
		case d.Err() != nil && bytes.Count(data, []byte(",")) < 1000:
			t.Errorf("%q: got %v", data, d.Err())
		case d.Err() == nil && !reflect.DeepEqual(got, want):
			t.Errorf("%q: got %#v, want %#v", data, got, want)
		}
	})
}

// FuzzBatch compares Batch with encoding/json.
func FuzzBatch(f *testing.F) {
	for _, s := range documents {
		f.Add([]byte(s))
		f.Add([]byte(" [ " + s + " , " + s + " ] "))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 5
		got, err := Batch(data, most)
		var want []json.RawMessage
		wantErr := json.Unmarshal(data, &want)
		switch {
		case string(bytes.Trim(data, " \t\r\n")) == "null" || depth(data) > MaxDepth:
		case (err == nil) != (wantErr == nil && len(want) <= most):
			t.Errorf("%q: got %v, want %v and %d messages", data, err, wantErr, len(want))
		case err == nil && len(got) != len(want):
			t.Errorf("%q: got %d messages, want %d", data, len(got), len(want))
		}
		for i := range got {
			check.That(t, err != nil || bytes.Equal(got[i], want[i]), "%q: got message %s, want %s", data, got[i], want[i])
		}
	})
}
