package tree

import (
	"encoding/json"
	"testing"
)

// Numbers are equal by their value, and an exponent without end costs nothing.
func TestIdentityOfNumbers(t *testing.T) {
	for _, pair := range [][2]json.Number{
		{"1", "1.0"}, {"10", "1e1"}, {"-0", "0"}, {"0.10", "1E-1"}, {"1200", "12e+2"}, {"1e999999999", "10e999999998"},
	} {
		if Identity(pair[0]) != Identity(pair[1]) {
			t.Errorf("%s and %s are not the same: %v, %v", pair[0], pair[1], Identity(pair[0]), Identity(pair[1]))
		}
	}
	for _, pair := range [][2]any{
		{json.Number("1"), json.Number("-1")}, {json.Number("1"), json.Number("10")}, {json.Number("1"), "1"},
		{json.Number("1e99999999999999999999"), json.Number("1e99999999999999999998")},
	} {
		if Identity(pair[0]) == Identity(pair[1]) {
			t.Errorf("%v and %v are the same", pair[0], pair[1])
		}
	}
}

func TestIdentity(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1.0`, true}, {`1e2`, `100`, true}, {`-0`, `0`, true}, {`0.5`, `5e-1`, true}, {`1`, `2`, false}, {`1`, `"1"`, false},
		{`[1]`, `[1.0]`, true}, {`{"a":[1]}`, `{"a":[1.00]}`, true}, {`[1]`, `["1"]`, false}, {`[1]`, `[["number","1"]]`, false},
		{`null`, `false`, false}, {`[]`, `{}`, false}, {`100000000000000000000`, `1e20`, true},
	} {
		pair := decode(t, `{"a":`+tt.a+`,"b":`+tt.b+`}`)
		if got := Identity(pair["a"]) == Identity(pair["b"]); got != tt.want {
			t.Errorf("%s and %s: got %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}
