package paramheader_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/internal/paramheader"
)

// maxSafeInteger is the largest that every JSON implementation holds.
const maxSafeInteger = 1<<53 - 1

// Every value comes back from its header, and the header has only valid bytes.
func FuzzValue(f *testing.F) {
	for _, v := range []string{"", "plain", " a", "a\t", "a\tb", "käse", "=?base64?YQ==?=", "=?base64?", "a\r\nX: y", "\x7f", "\xff", "=?BASE64?YQ==?="} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v string) {
		h := paramheader.Value(v)
		check.That(t, strings.Trim(h, " \t") == h && !strings.ContainsFunc(h, func(r rune) bool { return r < 0x20 || r > 0x7e }),
			"%q becomes the header %q", v, h)
		got := h
		if inner, ok := strings.CutPrefix(h, "=?base64?"); ok && strings.HasSuffix(inner, "?=") {
			raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, "?="))
			check.Require(t, err == nil, "%q becomes the header %q: %v", v, h, err)
			got = string(raw)
		}
		check.That(t, got == v, "%q becomes the header %q, which says %q", v, h, got)
	})
}

// An error of an argument names the whole path to it.
func TestMirrorNamesTheArgument(t *testing.T) {
	params, err := paramheader.Of(json.RawMessage(`{"properties":{"a":{"properties":{"id":{"type":"integer","x-mcp-header":"A"}}}}}`))
	check.Must(t, err)
	err = paramheader.Mirror(params, []byte(`{"a":{"id":1e300}}`), func(string, string) {})
	check.Text(t, err, `argument "a.id": 1e300 is repeated in a header`)
}

// The headers of a call say what its arguments say.
func FuzzMirror(f *testing.F) {
	for _, args := range []string{`{"a":"x","b":{"c":1}}`, `{"a":-0,"b":{"c":4.0e1}}`, `{"a":true,"a":null,"b":{"c":1},"b":[]}`, `{"b":{"c":1},"b":{}}`, `{"a":9007199254740993}`, `{"b":{"c":9007199254740993}}`, `{"a":"\ud83d","b":{"c":1e-7}}`, `[]`} {
		f.Add([]byte(args))
	}
	params, err := paramheader.Of(json.RawMessage(`{"properties":{"a":{"type":"string","x-mcp-header":"A"},
		"b":{"properties":{"c":{"type":"integer","x-mcp-header":"C"}}}}}`))
	check.Must(f, err)
	f.Fuzz(func(t *testing.T, args []byte) {
		args = bytes.Trim(args, " \t\r\n")
		var order, within map[string]json.RawMessage
		if !json.Valid(args) || json.Unmarshal(args, &order) != nil {
			return
		}
		_ = json.Unmarshal(order["b"], &within)
		h := map[string]string{}
		err := paramheader.Mirror(params, args, func(header, value string) { h[header] = value })
		unsafe := false
		for name, value := range map[string]json.RawMessage{"Mcp-Param-A": order["a"], "Mcp-Param-C": within["c"]} {
			want, ok, tooLarge := said(value)
			if tooLarge && name == "Mcp-Param-A" { // which is a string: not of the declared type
				want, tooLarge = string(value), false
			}
			unsafe = unsafe || tooLarge
			switch got, there := h[name]; {
			case tooLarge:
			case there != ok:
				t.Errorf("%s: header %s is there: %t, want %t", args, name, there, ok)
			case ok && got != paramheader.Value(want):
				t.Errorf("%s: header %s is %q, want %q", args, name, got, paramheader.Value(want))
			}
		}
		check.That(t, (err != nil) == unsafe, "%s: got %v, want an error for an unsafe integer: %t", args, err, unsafe)
	})
}

// said is the text of an argument in a header, found out with exact numbers.
func said(value json.RawMessage) (text string, ok, unsafe bool) {
	if len(value) == 0 {
		return "", false, false
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return "", false, false
	}
	switch v := v.(type) {
	case string:
		return v, true, false
	case bool:
		return fmt.Sprint(v), true, false
	case json.Number:
		var f float64
		if json.Unmarshal(value, &f) != nil {
			return "", false, true
		}
		n, exact := new(big.Int).SetString(v.String(), 10)
		if !exact {
			n, _ = big.NewFloat(f).Int(nil)
			if new(big.Float).SetInt(n).Cmp(big.NewFloat(f)) != 0 && n.IsInt64() && n.CmpAbs(big.NewInt(maxSafeInteger)) <= 0 {
				return v.String(), true, false
			}
		}
		return n.String(), true, n.CmpAbs(big.NewInt(maxSafeInteger)) > 0
	}
	return "", false, false
}
