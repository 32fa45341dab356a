package rewrite

import (
	"encoding/json"
	"math/big"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// numbers writes multipleOf and the exclusive bounds, which Gemini does not have. A multiple of an integer is an integer.
// An exclusive bound of an integer becomes the inclusive bound of the next one. Other numbers get the bound itself, and
// for GoogleAI all get a sentence of the description.
func (f *forms) numbers(out, s map[string]any, at string) {
	if step, ok := tree.Rational(s["multipleOf"]); ok && step.IsInt() {
		out["type"] = "integer"
	}
	for _, b := range []struct {
		from, to string
		sign     int
	}{{"exclusiveMinimum", "minimum", 1}, {"exclusiveMaximum", "maximum", -1}} {
		limit, ok := tree.Rational(s[b.from])
		if !ok {
			continue
		}
		if inclusive, ok := tree.Rational(s[b.to]); ok && inclusive.Cmp(limit)*b.sign > 0 {
			f.record(at, b.from, profile.Same, "left out, because "+b.to+" is stricter")
			continue
		}
		if out["type"] == "integer" && !f.googleAI {
			out[b.to] = nextInteger(limit, b.sign)
			f.record(at, b.from, profile.Same, "written as "+b.to)
			continue
		}
		if !f.googleAI {
			out[b.to] = s[b.from]
		}
		f.describeUnwritable(out, s, at, b.from)
	}
	f.describeUnwritable(out, s, at, "multipleOf")
}

// nextInteger returns the next integer above a limit for a sign of 1, below it for -1.
func nextInteger(limit *big.Rat, sign int) json.Number {
	n := new(big.Int).Div(limit.Num(), limit.Denom()) // rounded down
	switch {
	case sign > 0:
		n.Add(n, big.NewInt(1))
	case limit.IsInt():
		n.Sub(n, big.NewInt(1))
	}
	return json.Number(n.String())
}
