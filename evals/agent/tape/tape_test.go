package tape

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// Each reply is given once, in its order; then the tape lacks it.
func TestReplay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.jsonl")
	r := Recorder("t", file, NewFilter("hush-hush"))
	asked := json.RawMessage(`{"say":"hush-hush <1>"}`)
	for _, reply := range []string{`"one"`, `"two"`, `"hush-hush"`} {
		check.Must(t, r.Keep(Line{Reply: &Reply{Agent: "a", Turn: 1, Request: asked, Reply: json.RawMessage(reply)}}))
	}
	p, err := Player("t", file, NewFilter("hush-hush"))
	check.Must(t, err)
	for i, want := range []string{`"one"`, `"two"`, `"[secret]"`, ""} {
		if _, err := p.Replay("b", 1, asked); !errors.Is(err, ErrMiss) {
			t.Errorf("another agent: got %v", err)
		}
		if _, err := p.Replay("a", 2, asked); !errors.Is(err, ErrMiss) {
			t.Errorf("another turn: got %v", err)
		}
		got, err := p.Replay("a", 1, asked)
		if string(got) != want || errors.Is(err, ErrMiss) != (want == "") || p.Err() == nil {
			t.Errorf("reply %d: got %s, %v, want %s", i, got, err, want)
		}
	}
}

func TestDifference(t *testing.T) {
	for want, c := range map[string][2]string{
		`line 2 of the request: recorded "a": 1, asked "a": 2`: {`{"a":1}`, `{"a":2}`},
		`line 3 of the request: recorded "b": 3, asked "c": 3`: {`{"a":1,"b":3}`, `{"a":1,"c":3}`},
		"the request differs in white space":                   {`{"a":1}`, `{ "a": 1 }`},
	} {
		check.Equal(t, "", difference(json.RawMessage(c[0]), json.RawMessage(c[1])), want)
	}
}
