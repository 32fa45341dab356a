package rig

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
)

// Target bounds a figure in the cells whose names match.
type Target struct {
	Cells *regexp.Regexp
	What  string
	Of    func(*Cell) []float64 // round by round; empty if it was not measured
	Limit float64
	Show  func(float64) string
}

// Bound returns the target of the cells whose names match the regular expression cells.
func Bound(cells, what string, of func(*Cell) []float64, limit float64, show func(float64) string) Target {
	return Target{Cells: regexp.MustCompile(cells), What: what, Of: of, Limit: limit, Show: show}
}

// values returns the figures that the target bounds in a cell, none if it does not apply there.
func (t *Target) values(c *Cell) []float64 {
	if !t.Cells.MatchString(c.Name) {
		return nil
	}
	return t.Of(c)
}

// apart is how many standard errors a median stands off its limit, if the verdict is not chance.
const apart = 3

// isDecided reports whether the samples of a cell show on which side of their limits its figures are.
func isDecided(targets []Target, c *Cell) bool {
	for _, t := range targets {
		v := t.values(c)
		m := Median(v)
		if len(v) > 0 && math.Abs(m-t.Limit) < apart*math.Abs(m)*Uncertainty(v) {
			return false
		}
	}
	return true
}

// Verdicts prints and counts verdicts.
type Verdicts struct {
	out             io.Writer
	checked, missed int
}

// NewVerdicts returns verdicts that are printed to out.
func NewVerdicts(out io.Writer) *Verdicts { return &Verdicts{out: out} }

// Add prints one verdict.
func (v *Verdicts) Add(cell, what, got, limit string, ok bool) {
	v.checked++
	verdict := "ok"
	if !ok {
		verdict = "MISSED"
		v.missed++
	}
	fmt.Fprintf(v.out, "  %-24s %-31s %14s ≤ %-10s %s\n", cell, what, got, limit, verdict)
}

// targets adds the verdicts of one cell.
func (v *Verdicts) targets(targets []Target, c *Cell) {
	for _, t := range targets {
		values := t.values(c)
		if len(values) == 0 {
			continue
		}
		m := Median(values)
		got := t.Show(m)
		if len(values) > 1 {
			got += " ±" + Percent(Spread(values))
		}
		v.Add(c.Name, t.What, got, t.Show(t.Limit), m <= t.Limit)
	}
}

// err is the error of -check.
func (v *Verdicts) err() error {
	switch {
	case v.checked == 0:
		return errors.New("-check: no target applies to what was measured")
	case v.missed > 0:
		return fmt.Errorf("%d of %d targets missed", v.missed, v.checked)
	}
	return nil
}

// Quantile returns the q-quantile of the values, interpolated between the two nearest. It is 0 without values.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// Median returns the 0.5-quantile of the values.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Spread returns half the distance between the quartiles, as a share of the median.
func Spread(values []float64) float64 {
	m := Median(values)
	if m == 0 {
		return 0
	}
	return (Quantile(values, 0.75) - Quantile(values, 0.25)) / 2 / math.Abs(m)
}

// Uncertainty returns the standard error of the median, as a share of it. For normally distributed values it is
// 1.25 σ/√n, and the spread is 0.67 σ.
func Uncertainty(values []float64) float64 {
	return 1.25 / 0.67 * Spread(values) / math.Sqrt(float64(len(values)))
}

// Over returns a as a share of b, for [ByRound].
func Over(a, b float64) float64 { return a / b }

// ByRound combines the two values of each round. A round with one value only is left out.
func ByRound(a, b []float64, f func(a, b float64) float64) []float64 {
	out := make([]float64, min(len(a), len(b)))
	for i := range out {
		out[i] = f(a[i], b[i])
	}
	return out
}
