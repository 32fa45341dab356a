package jsonrpc

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestMembers(t *testing.T) {
	got := map[string]string{}
	check.NoError(t, Members([]byte(`{"a":1,"b":{"a":2},"c":"x"}`), func(k, v []byte) { got[string(k)] = string(v) }))
	check.Same(t, "members", got, map[string]string{"a": "1", "b": `{"a":2}`, "c": `"x"`})
	check.Fails(t, Members([]byte(`[1]`), func(k, v []byte) {}), "an array")
}

func TestLimitArrays(t *testing.T) {
	for _, tt := range []struct {
		in   string
		fits bool
	}{
		{`{}`, true},
		{`{"a":[1,2,3],"b":{"c":[1,2,3,4]}}`, true}, // nested arrays are inside an element
		{`{"a":[],"raw":[1,2,3,4]}`, true},
		{`{"a":[[1,2,3,4],{}]}`, true},
		{`{"a":{"b":` + strings.Repeat("[", 30) + "[]" + strings.Repeat("]", 30) + `}}`, true},
		{`{"a":{"b":` + strings.Repeat("[", 30) + "[1]" + strings.Repeat("]", 30) + `}}`, false},
		{`{"a":{"b":[` + strings.Repeat("1,", 20) + `1]},"c":{"d":[1,2,3,4,5,6,7,8,9]}}`, true},
		{`{"a":{"b":[` + strings.Repeat("1,", 20) + `1]},"c":{"d":[1,2,3,4,5,6,7,8,9,10]}}`, false},
		{`{"raw":{"b":[` + strings.Repeat("1,", 50) + `1]}}`, true},
		{`{"a":[1,2,3,4]}`, false},
		{`{"x":1,"a":[{},{},{},{}]}`, false},
	} {
		check.Equal(t, tt.in, (LimitArrays([]byte(tt.in), 3, "raw") == nil), tt.fits)
	}
}

// Errors quote at most 1 KiB of what the peer wrote.
func TestErrorsAreBounded(t *testing.T) {
	long := strings.Repeat("9", 1<<20)
	var code struct{ Code int }
	for name, err := range map[string]error{
		"a long name":         LimitArrays([]byte(`{"`+long+`":[1,2]}`), 1),
		"a long name, in all": LimitArrays([]byte(`{"`+long+`":{"a":[1,2,3,4,5,6,7,8,9,10,11]}}`), 1),
		"a long number":       Unmarshal([]byte(`{"code":`+long+`}`), &code),
		"a result":            DecodeResult([]byte(`{"code":`+long+`}`), &code),
	} {
		check.That(t, err != nil && len(err.Error()) <= 2<<10, "%s: got an error of %d bytes, want one of at most 2 KiB", name, len(fmt.Sprint(err)))
	}
}

func TestCountElements(t *testing.T) {
	for in, want := range map[string]int{
		`1`: 0, `"[1,2]"`: 0, `[]`: 0, ` [ ] `: 0, `[1]`: 1, `[1, "a,b\\",{}]`: 3, `{"a":1,"b":[{"c":1,"d":2},3]}`: 2, `[[[]],[1,2]]`: 5,
	} {
		check.Equal(t, in, CountElements([]byte(in)), want)
	}
}

func TestString(t *testing.T) {
	for _, raw := range []string{`""`, `"plain"`, `"a\nb\\\"\/\b\f\r\tc"`, `"\u00e9\u20AC"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ud83d\u0041"`,
		`"\ude00x"`, `"\ud83d\ud83d\ude00"`, "\"\xff\\n\xc3\"", `"é€😀"`, `"` + strings.Repeat(`long\n`, 100) + `"`} {
		var want string
		check.Must(t, json.Unmarshal([]byte(raw), &want))
		got, ok := String([]byte(raw))
		check.That(t, ok && got == want, "%s: got %q, %t, want %q", raw, got, ok, want)
	}
	for _, raw := range []string{``, `"`, `5`, `null`, `{}`, `"\"`, `"\q"`, `"\u12"`, `"\u12g4"`} {
		got, ok := String([]byte(raw))
		check.That(t, !ok, "%s: got %q, want that it is not a string", raw, got)
	}
}

// FuzzString compares String with encoding/json.
func FuzzString(f *testing.F) {
	for _, s := range []string{`plain`, `a\n\u00e9`, `\ud83d\ude00`, `\ud83dx`, "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, inner []byte) {
		raw := append(append([]byte{'"'}, inner...), '"')
		var want string
		if json.Unmarshal(raw, &want) != nil {
			return
		}
		got, ok := String(raw)
		check.That(t, ok && got == want, "%q: got %q, %t, want %q", raw, got, ok, want)
	})
}

func TestObject(t *testing.T) {
	in := []byte(`{"a":1,"\u0061":{"b":[2]},"c":null}`)
	got, err := Object(in, 3)
	check.That(t, err == nil && len(got) == 2 && string(got["a"]) == `{"b":[2]}` && string(got["c"]) == "null",
		"got %s, %v, want the last of equal names", got, err)
	for _, in := range []string{`{"a":1,"b":2,"c":3,"d":4}`, `[]`, `"a"`, `null`, `{"a":}`, ``} {
		check.Fails(t, check.Err(Object([]byte(in), 3)), in)
	}
}

func TestLookup(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":{"b":1},"c":2}`: "1", `{"a":{"b":1,"b":[3]}}`: "[3]", `{"a":{"c":1}}`: "", `{"a":[{"b":1}]}`: "", `{"a":{"b":1}`: "", ``: "",
	} {
		check.Equal(t, in, string(Lookup([]byte(in), "a", "b")), want)
	}
}
