package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFloorsAgree: both codecs read the same from all answers of the responder,
// and from the same JSON in other forms.
func TestFloorsAgree(t *testing.T) {
	messages := map[string][]byte{
		"escapes":   []byte(`{"id":7,"result":{"content":[{"text":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud800x\\","type":"text"}]}}`),
		"blanks":    []byte("{ \"id\" : 7 ,\n \"result\" : { \"content\" : [ { \"text\" : \"a\" } , { \"text\" : \"\" } ] , \"isError\" : true } }"),
		"unknown":   []byte(`{"x":[{"a":"]}"},-1.5e3,null],"id":7,"y":{},"z":[],"result":{"_meta":{"a":[1,2]},"content":[],"more":false}}`),
		"no result": []byte(`{"id":7}`),
	}
	for _, revision := range []string{legacy, modern} {
		a := answersOf(revision)
		add := func(name string, rest []byte) {
			messages[revision+" "+name] = append([]byte(respondHead+"42"), rest...)
		}
		add("initialize", a.initialize)
		add("discover", a.discover)
		add("small", a.texts[smallTool]())
		add("large", a.texts[mibTool]())
		add("first page", a.pages()[0])
		add("last page", a.pages()[pageCount-1])
	}
	for name, message := range messages {
		if !json.Valid(message) {
			t.Fatalf("%s: not JSON", name)
		}
		var scanned, parsed floorMessage
		if err := (scanCodec{}).decode(message, &scanned); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := (jsonCodec{}).decode(message, &parsed); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(parsed, scanned, nilIsEmpty); diff != "" {
			t.Errorf("%s: encoding/json (-), the scanner (+):\n%s", name, diff)
		}
	}
}

var nilIsEmpty = cmp.Transformer("blocks", func(r floorResult) (out struct {
	Blocks []string
	Error  bool
	Next   string
	Tools  []floorTool
}) {
	for _, b := range r.Content {
		out.Blocks = append(out.Blocks, b.Text)
	}
	out.Error, out.Next, out.Tools = r.IsError, r.NextCursor, r.Tools
	return out
})

func TestScanCodecReportsWhatIsCutShort(t *testing.T) {
	whole := append([]byte(respondHead+"42"), answersOf(modern).texts[smallTool]()...)
	whole = bytes.TrimSpace(whole)
	for n := range whole {
		if err := (scanCodec{}).decode(whole[:n:n], &floorMessage{}); err == nil {
			t.Errorf("%q: got no error", whole[:n])
		}
	}
}

func TestFloorRequestsAreJSON(t *testing.T) {
	for _, r := range []floorRequest{
		{method: "initialize"},
		{method: "server/discover", modern: true},
		{method: "tools/call", tool: smallTool},
		{method: "tools/call", tool: smallTool, modern: true},
		{method: "tools/list"},
		{method: "tools/list", cursor: "page_01"},
		{method: "tools/list", cursor: "page_01", modern: true},
		{method: "notifications/initialized"},
	} {
		if b := r.appendTo(nil, 1); !json.Valid(b) {
			t.Errorf("%+v: got %s, want JSON", r, b)
		}
	}
}
