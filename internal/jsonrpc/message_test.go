package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     Message
	}{
		{"request", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, Message{ID: raw("1"), Method: "ping"}},
		{"request with params", `{"jsonrpc":"2.0","id":"a b","method":"x","params":{"k":[1,{"y":"}"}]}}`,
			Message{ID: raw(`"a b"`), Method: "x", Params: raw(`{"k":[1,{"y":"}"}]}`)}},
		{"notification", `{"jsonrpc":"2.0","method":"n","params":{}}`, Message{Method: "n", Params: raw(`{}`)}},
		{"result", `{"id":7,"result":{"a":"\"\\"},"jsonrpc":"2.0"}`, Message{ID: raw("7"), Result: raw(`{"a":"\"\\"}`)}},
		{"result null", `{"jsonrpc":"2.0","id":7,"result":null}`, Message{ID: raw("7"), Result: raw(`null`)}},
		{"error", `{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}`, Message{ID: raw("7"), Error: raw(`{"code":-1,"message":"no"}`)}},
		{"error without id", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}`, Message{Error: raw(`{"code":-32700,"message":"no"}`)}},
		{"error with id null", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`, Message{ID: raw("null"), Error: raw(`{"code":1,"message":""}`)}},
		{"error beside result null", `{"id":1,"result":null,"error":{"code":-1,"message":"no"}}`, Message{ID: raw("1"), Error: raw(`{"code":-1,"message":"no"}`)}},
		{"both null", `{"id":1,"result":null,"error":null}`, Message{ID: raw("1"), Result: raw(`null`)}},
		{"result beside error null", `{"id":1,"result":{},"error":null}`, Message{ID: raw("1"), Result: raw(`{}`)}},
		{"without jsonrpc", `{"id":1,"result":{}}`, Message{ID: raw("1"), Result: raw(`{}`)}},
		{"big id", `{"id":9007199254740993,"method":"m"}`, Message{ID: raw("9007199254740993"), Method: "m"}},
		{"space everywhere", " {\t\"id\" : 1 ,\r\n \"result\" : [ 1 , 2 ] } \n", Message{ID: raw("1"), Result: raw(`[ 1 , 2 ]`)}},
		{"unknown members", `{"x":1,"id":1,"y":{"id":2},"result":true,"ID":3,"Result":4}`, Message{ID: raw("1"), Result: raw(`true`)}},
		{"escaped name", `{"\u0069d":5,"method":"m"}`, Message{ID: raw("5"), Method: "m"}},
		{"deepest", `{"id":1,"result":` + strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth) + `}`,
			Message{ID: raw("1"), Result: raw(strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth))}},
	} {
		got, err := Parse([]byte(tt.in))
		check.NoError(t, err, tt.name)
		check.Same(t, tt.name, got, tt.want)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", ``, "ends in the middle"},
		{"number", `42`, `'4' at byte 0, want '{'`},
		{"null", `null`, `want '{'`},
		{"empty object", `{}`, "neither a request nor a response"},
		{"cut in a string", `{"id":1,"result":"abc`, "ends in the middle"},
		{"cut in an object", `{"id":1,"result":{"a":1`, "ends in the middle"},
		{"text behind", `{"id":1,"result":1} x`, "text after the message at byte 20"},
		{"id that is a calculation", `{"id":1-2,"method":"ping"}`, `'-' at byte 7, want ','`},
		{"id of signs", `{"id":-+.e,"method":"ping"}`, `'+' at byte 7, want a digit`},
		{"hexadecimal id", `{"id":0x,"method":"ping"}`, `'x' at byte 7, want ','`},
		{"id with an unknown escape", `{"id":"\q","method":"ping"}`, `'q' at byte 8, which is not allowed in an escape`},
		{"id with a raw tab", "{\"id\":\"a\tb\",\"method\":\"ping\"}", `'\t' at byte 8, which must be escaped`},
		{"duplicate id", `{"id":1,"id":2,"result":1}`, `member "id" twice`},
		{"duplicate result", `{"id":1,"result":1,"result":2}`, `member "result" twice`},
		{"duplicate method by escape", `{"id":1,"method":"a","\u006dethod":"b"}`, `member "method" twice`},
		{"result and error", `{"id":1,"result":1,"error":{}}`, "both a result and an error"},
		{"method and result", `{"id":1,"method":"m","result":1}`, "both a request and a response"},
		{"result without id", `{"result":1}`, "result without an id"},
		{"id is an object", `{"id":{},"method":"m"}`, `neither a number nor a string`},
		{"request with id null", `{"id":null,"method":"m"}`, "id is null"},
		{"method is a number", `{"id":1,"method":3}`, "is not a non-empty string"},
		{"brackets crossed", `{"id":1,"result":[{]}}`, `']' at byte 19, want the name of a member`},
		{"unknown word", `{"id":1,"result":nil}`, "unknown word"},
		{"no comma", `{"id":1 "result":1}`, `want ','`},
		{"no colon", `{"id" 1}`, `want ':'`},
		{"name without quotes", `{id:1}`, "want the name of a member"},
		{"too deep", `{"id":1,"result":` + strings.Repeat("[", MaxDepth+1), "nested deeper than 1000"},
	} {
		got, err := Parse([]byte(tt.in))
		check.Text(t, err, tt.want, tt.name)
		check.Same(t, tt.name, got, Message{})
	}
}

func TestParseBatch(t *testing.T) {
	in := []byte(` [ {"id":1,"result":1} , {"method":"n"} ] `)
	check.Equal(t, "", check.Err(Parse(in)), ErrBatch)
	check.Same(t, "", check.Value(Batch(in, 2))(t), []json.RawMessage{raw(`{"id":1,"result":1}`), raw(`{"method":"n"}`)})
	check.Text(t, check.Err(Batch(in, 1)), "more than 1")
	for _, bad := range []string{`[1`, `[1,]`, `[] x`, `{}`} {
		check.Fails(t, check.Err(Batch([]byte(bad), 9)), bad)
	}
}

func TestIntID(t *testing.T) {
	for _, tt := range []struct {
		id         string
		want       int64
		quoted, ok bool
	}{
		{"7", 7, false, true}, {`"7"`, 7, true, true}, {"9007199254740993", 9007199254740993, false, true},
		{"0", 0, false, false}, {"-1", -1, false, false}, {`"+7"`, 0, true, false}, {`"-7"`, 0, true, false},
		{"9223372036854775807", math.MaxInt64, false, true}, {"9223372036854775808", 0, false, false},
		{"7.0", 7, false, true}, {"7.5", 0, false, false}, {"1e3", 1000, false, true}, {"2.00", 2, false, true},
		{"2e0", 2, false, true}, {"2E+0", 2, false, true}, {"2.50e1", 25, false, true}, {"2000e-3", 2, false, true},
		{`"2.0"`, 2, true, true}, {"2.5e0", 0, false, false}, {"2001e-3", 0, false, false},
		{"9007199254740993.0", 0, false, false}, {"1e19", 0, false, false},
		{"1e-999999999999999999999", 0, false, false}, {"1e999999999", 0, false, false}, {"-2e0", 0, false, false},
		{`"x"`, 0, true, false}, {"null", 0, false, false}, {"", 0, false, false},
	} {
		id, quoted, ok := (&Message{ID: raw(tt.id)}).IntID()
		check.That(t, ok == tt.ok && quoted == tt.quoted && (!ok || id == tt.want),
			"%s: got %d, %t, %t, want %d, %t, %t", tt.id, id, quoted, ok, tt.want, tt.quoted, tt.ok)
	}
}

// FuzzParse compares Parse with encoding/json: each message that Parse accepts has the same values there.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"id":"a","result":{"x":[1,2,{"y":"\\\""}]}}`,
		`{"jsonrpc":"2.0","error":{"code":-1,"message":"m"},"id":null}`, `[{"method":"n"}]`, `{"id":1,"id":1}`, `{"a":"\ud800"}`,
		`{"id":-0.5e+7,"result":[[],{},[{}],{"a":[true,false,null]}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		if err != nil {
			return
		}
		var want map[string]json.RawMessage
		err = json.Unmarshal(data, &want)
		check.Require(t, err == nil, "accepted, but not an object: %v", err)
		check.That(t, string(want["id"]) == string(m.ID) && string(want["params"]) == string(m.Params) && string(want["result"]) == string(m.Result),
			"got %+v, want %s", m, want)
		BrokenMembers(data, func(key, value []byte) {
			check.That(t, string(key) != "id" || value == nil || string(value) == string(m.ID) || bytes.Contains(data, []byte{'\\'}),
				"found the id %s, want %s", value, m.ID)
		})
	})
}

func BenchmarkParse(b *testing.B) {
	small := []byte(`{"jsonrpc":"2.0","id":12,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 64) + `"}],"isError":false}}`)
	large := []byte(`{"jsonrpc":"2.0","id":12,"result":{"content":[{"type":"text","text":"` + strings.Repeat(`line\n`, 200_000) + `"}]}}`)
	tool := `{"name":"forecast","inputSchema":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}}`
	list := []byte(`{"jsonrpc":"2.0","id":12,"result":{"tools":[` + strings.Repeat(tool+",", 999) + tool + `]}}`)
	for name, data := range map[string][]byte{"small": small, "1MiB": large, "list": list} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				check.Must(b, check.Err(Parse(data)))
			}
		})
	}
}

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
