package tree

import (
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// Numbers are equal by their value, and an exponent without end costs nothing.
func TestIdentity(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1.0`, true}, {`1e2`, `100`, true}, {`-0`, `0`, true}, {`0.5`, `5e-1`, true}, {`1`, `2`, false}, {`1`, `"1"`, false},
		{`[1]`, `[1.0]`, true}, {`{"a":[1]}`, `{"a":[1.00]}`, true}, {`[1]`, `["1"]`, false}, {`[1]`, `[["number","1"]]`, false},
		{`10`, `1e1`, true}, {`0.10`, `1E-1`, true}, {`1200`, `12e+2`, true}, {`1e999999999`, `10e999999998`, true},
		{`1`, `-1`, false}, {`1`, `10`, false}, {`1e99999999999999999999`, `1e99999999999999999998`, false},
		{`null`, `false`, false}, {`[]`, `{}`, false}, {`100000000000000000000`, `1e20`, true},
	} {
		pair := decode(t, `{"a":`+tt.a+`,"b":`+tt.b+`}`)
		got := Identity(pair["a"]) == Identity(pair["b"])
		check.That(t, got == tt.want, "%s and %s: got %v, want %v", tt.a, tt.b, got, tt.want)
	}
}
