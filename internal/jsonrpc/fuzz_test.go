package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

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

// flat replaces nested arrays by their elements.
func flat(all []json.RawMessage) (elements []json.RawMessage) {
	for _, raw := range all {
		var inner []json.RawMessage
		if raw[0] == '[' && json.Unmarshal(raw, &inner) == nil {
			elements = append(elements, flat(inner)...)
			continue
		}
		elements = append(elements, raw)
	}
	return elements
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
		want = flat(want)
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
