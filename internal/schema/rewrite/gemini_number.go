package rewrite

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
)

// maxMultiples bounds the multiples that are enumerated.
const maxMultiples = 100

func rat(n int) *big.Rat { return big.NewRat(int64(n), 1) }

// number writes the bounds of a number.
func (g *geminiWriter) number(out, s map[string]any, at string) {
	copyKeys(out, s, "minimum", "maximum")
	for _, b := range []struct {
		from, to string
		sign     int
	}{{"exclusiveMinimum", "minimum", 1}, {"exclusiveMaximum", "maximum", -1}} {
		limit, ok := rational(s[b.from])
		if !ok {
			continue
		}
		if inclusive, ok := rational(s[b.to]); ok && inclusive.Cmp(limit)*b.sign > 0 {
			g.note(at, b.from, Same, "left out, because "+b.to+" says more")
			continue
		}
		next, ok := beyond(limit, b.sign, out["type"] == "integer")
		if !ok || g.target == GoogleAI {
			g.note(at, b.from, Wider, "told in the description")
			describe(out, "("+b.from+": "+show(s[b.from])+")")
			continue
		}
		out[b.to] = next
		g.note(at, b.from, Same, "written as "+b.to)
		if out["type"] != "integer" {
			describe(out, "("+b.from+": "+show(s[b.from])+")")
		}
	}
}

// beyond is the next number after a limit, up or down: the next integer, or the
// next of the numbers of 64 bits, which is what providers compute with. Beyond
// those there is none.
func beyond(limit *big.Rat, sign int, whole bool) (json.Number, bool) {
	if whole {
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
	// What counts is the number as it is written, which is not f in full.
	for !math.IsInf(f, 0) {
		spelled := strconv.FormatFloat(f, 'g', -1, 64)
		if written, ok := new(big.Rat).SetString(spelled); ok && written.Cmp(limit)*sign > 0 {
			return json.Number(spelled), true
		}
		f = math.Nextafter(f, math.Inf(sign))
	}
	return "", false
}

// multiples lists the multiples that s demands, nil when they are too many.
func (g *geminiWriter) multiples(s map[string]any, whole bool) []any {
	step, ok := rational(s["multipleOf"])
	low, bounded := bound(s, "minimum", "exclusiveMinimum", 1)
	high, alsoBounded := bound(s, "maximum", "exclusiveMaximum", -1)
	if !ok || !bounded || !alsoBounded || step.Sign() <= 0 || !step.IsInt() && whole {
		return nil
	}
	ratio := new(big.Rat).Quo(low, step)
	n := new(big.Int).Div(ratio.Num(), ratio.Denom())
	if !ratio.IsInt() {
		n.Add(n, big.NewInt(1))
	}
	said := g.doc.demandsOn(s)
	out := []any{}
	for len(out) <= maxMultiples {
		v := new(big.Rat).Mul(new(big.Rat).SetInt(n), step)
		if v.Cmp(high) > 0 {
			return out
		}
		spelled, exact := decimal(v)
		if !exact {
			return nil
		}
		if said.meet(spelled) {
			out = append(out, spelled)
		}
		n.Add(n, big.NewInt(1))
	}
	return nil
}

// bound is the stricter of two limits.
func bound(s map[string]any, inclusive, exclusive string, sign int) (*big.Rat, bool) {
	a, okA := rational(s[inclusive])
	b, okB := rational(s[exclusive])
	if okA && (!okB || a.Cmp(b)*sign >= 0) {
		return a, true
	}
	return b, okB
}

// decimal writes a number of few digits exactly.
func decimal(v *big.Rat) (json.Number, bool) {
	if v.IsInt() {
		return json.Number(v.Num().String()), true
	}
	digits, exact := v.FloatPrec()
	return json.Number(v.FloatString(digits)), exact && digits <= 20
}
