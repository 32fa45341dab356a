package rewrite

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// numbers writes multipleOf and the exclusive bounds, which Gemini does not have. A multiple of an integer is an integer.
// An exclusive bound becomes the inclusive bound of the next number, for GoogleAI a sentence of the description.
func (f *forms) numbers(out, s map[string]any, at string) {
	if step, ok := tree.Rational(s["multipleOf"]); ok && step.IsInt() {
		out["type"] = "integer"
		if step.Cmp(big.NewRat(1, 1)) == 0 {
			f.record(at, "multipleOf", profile.Same, "written as integer")
			s = tree.Without(s, "multipleOf")
		}
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
		next, ok := nextNumber(limit, b.sign, out["type"] == "integer")
		if !ok || f.googleAI {
			f.describeUnwritable(out, s, at, b.from)
			continue
		}
		out[b.to] = next
		f.record(at, b.from, profile.Same, "written as "+b.to)
		if out["type"] != "integer" {
			describe(out, "("+b.from+": "+tree.Show(s[b.from])+")")
		}
	}
	f.describeUnwritable(out, s, at, "multipleOf")
}

// nextNumber returns the next number above a limit for a sign of 1, below it for -1: the next integer, or the next
// float64, because providers compute with float64. It returns false if there is no such float64.
func nextNumber(limit *big.Rat, sign int, integer bool) (json.Number, bool) {
	if integer {
		n := new(big.Int).Div(limit.Num(), limit.Denom()) // rounded down
		switch {
		case sign > 0:
			n.Add(n, big.NewInt(1))
		case limit.IsInt():
			n.Sub(n, big.NewInt(1))
		}
		return json.Number(n.String()), true
	}
	f, _ := limit.Float64()
	// Compare the number as it is written, which may differ from f.
	for !math.IsInf(f, 0) {
		spelled := strconv.FormatFloat(f, 'g', -1, 64)
		if written, ok := new(big.Rat).SetString(spelled); ok && written.Cmp(limit)*sign > 0 {
			return json.Number(spelled), true
		}
		f = math.Nextafter(f, math.Inf(sign))
	}
	return "", false
}
