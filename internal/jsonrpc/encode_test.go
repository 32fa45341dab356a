package jsonrpc

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestAppend(t *testing.T) {
	for _, tt := range []struct{ name, got, want string }{
		{"request", string(AppendRequest(nil, 3, "tools/call")), `{"jsonrpc":"2.0","id":3,"method":"tools/call"`},
		{"notification", string(AppendNotification(nil, "n", raw(`{}`))), `{"jsonrpc":"2.0","method":"n","params":{}}`},
		{"result", string(AppendResult(nil, raw(`"a\u0062"`), raw(`{}`))), `{"jsonrpc":"2.0","id":"a\u0062","result":{}}`},
		{"error", string(AppendError(nil, raw(`1`), raw(`{"code":1,"message":"m"}`))), `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`},
		{"plain string", string(AppendString(nil, "a<b>&c")), `"a<b>&c"`},
		{"quoted string", string(AppendString(nil, "a\"b\\c\nd\x00é")), `"a\"b\\c\nd\u0000é"`},
		{"broken UTF-8", string(AppendString(nil, "a\xff")), `"a\ufffd"`},
	} {
		check.Equal(t, tt.name, tt.got, tt.want)
	}
}

func TestMarshalKeepsHTML(t *testing.T) {
	check.Equal(t, "", string(check.Value(Marshal(map[string]string{"a": "<&>"}))(t)), `{"a":"<&>"}`)
	check.Fails(t, check.Err(Marshal(func() {})), "a function")
}

// Messages are valid UTF-8, even if they contain a caller's invalid JSON text.
func TestMarshalIsUTF8(t *testing.T) {
	for want, v := range map[string]any{
		`{"a":"\ufffd"}`:     map[string]string{"a": "\xff"},
		"{\"a\":\"\uFFFD\"}": map[string]json.RawMessage{"a": json.RawMessage("\"\xff\"")},
	} {
		check.Equal(t, "", string(check.Value(Marshal(v))(t)), want)
	}
}

func TestOneLine(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		ok       bool
	}{
		{`{"a": 1}`, `{"a": 1}`, true},
		{"{\n\t\"a\": 1\r\n}", `{"a":1}`, true},
		{`{"a":`, "", false},
		{"", "", false},
		{"\"\xff\xc3\xa4\"", "\"\uFFFDä\"", true},
	} {
		got, err := OneLine(json.RawMessage(tt.in))
		check.That(t, (err == nil) == tt.ok && string(got) == tt.want, "%q: got %s, %v, want %s", tt.in, got, err, tt.want)
	}
}

// Text that is nested too deeply is not called invalid: it may be valid JSON.
func TestCheckDepth(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	for in, want := range map[string]string{
		deep:                  "JSON nested deeper than 1000 at byte 1000",
		"[1":                  "not valid JSON: message ends in the middle",
		"[] []":               "not valid JSON: text after the value at byte 3",
		deep[1:][:2*MaxDepth]: "",
	} {
		got := ""
		if err := Check([]byte(in)); err != nil {
			got = err.Error()
		}
		check.Equal(t, "", got, want)
	}
}

func FuzzAppendString(f *testing.F) {
	f.Add("plain")
	f.Add("\"\\\n\x7f\u2028")
	f.Fuzz(func(t *testing.T, s string) {
		check.Equal(t, "", string(AppendString(nil, s)), string(check.Value(Marshal(s))(t)))
	})
}

// However a server writes a secret, data is JSON without it, and what has none stays as it came.
func TestMapTexts(t *testing.T) {
	redact := func(s string) string {
		for _, secret := range []string{"a/secret+key", "123456789"} {
			s = strings.ReplaceAll(s, secret, "[secret]")
		}
		return s
	}
	for _, test := range []struct{ in, want string }{
		{`{"a": [1, "x\/\u0041", true, null, -1.5e3], "b":{} }`, `{"a": [1, "x\/\u0041", true, null, -1.5e3], "b":{} }`},
		{`"a/secret+key"`, `"[secret]"`},
		{`"a\/secret+key"`, `"[secret]"`},
		{`["the \u0061/secret+key\n","z"]`, `["the [secret]\n","z"]`},
		{`{"a/secret+key":1,"n":"\\\"a/secret+key\\"}`, `{"[secret]":1,"n":"\\\"[secret]\\"}`},
		{`{"n":123456789,"m":[123456789]}`, `{"n":"[secret]","m":["[secret]"]}`},
		{`123456789`, `"[secret]"`},
		{`1`, `1`},
		{``, ``},
	} {
		got := string(MapTexts(json.RawMessage(test.in), redact))
		check.That(t, got == test.want && (len(got) == 0 || json.Valid([]byte(got))), "%s: got %s, want %s", test.in, got, test.want)
	}
}

// Punctuation costs nothing: a server may send megabytes of it.
func TestMapTextsSkipsPunctuation(t *testing.T) {
	raw := json.RawMessage("[" + strings.Repeat("{},[], ", 1000) + "{}]")
	check.Equal(t, "allocations", testing.AllocsPerRun(10, func() { MapTexts(raw, strings.ToLower) }), 0)
}

func FuzzMapTexts(f *testing.F) {
	f.Add(`{"a":["secret",1,true,"\"\\"],"secret":{}}`)
	f.Fuzz(func(t *testing.T, in string) {
		if !json.Valid([]byte(in)) {
			return
		}
		got := MapTexts(json.RawMessage(in), func(s string) string { return strings.ReplaceAll(s, "secret", "[-]") })
		check.That(t, json.Valid(got) && !strings.Contains(string(got), "secret"), "%q: got %q", in, got)
	})
}
