package jsonrpc

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

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
