package adapter

import (
	"strings"
	"testing"
)

func TestDescription(t *testing.T) {
	short := toolWith(t, `{ "type": "object", "properties": {"n": {"type": "integer"}} }`)
	if got, want := short.Description(), "Does it.\nThe input is a JSON object that fits this JSON Schema: "+
		`{"type":"object","properties":{"n":{"type":"integer"}}}`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	long := toolWith(t, `{"type":"object","required":["b"],"properties":{
		"a":{"type":["string","null"],"description":"the\n first"},"b":{"type":"integer"},"c":{"description":"`+strings.Repeat("x", 2000)+`"}}}`)
	got := long.Description()
	if want := "Does it.\nThe input is a JSON object with these properties:\n- b (integer, required)\n- a (string or null): the first\n- c: xxx"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want it to begin with %q", got, want)
	}
	long.def.Description = strings.Repeat("é", 5000)
	if got := long.Description(); len(got) > 1024 || !strings.Contains(got, "- b (integer, required)") {
		t.Errorf("got %d bytes %q, want at most 1024 with the properties", len(got), got)
	}
	long.def.Description, long.def.Title = "", "A title"
	if got := long.Description(); !strings.HasPrefix(got, "A title\n") {
		t.Errorf("got %q, want the title where there is no description", got)
	}
}
