// Package rig measures programs beside each other, round by round, and says how certain the figures are.
package rig

import (
	"math"
	"slices"
)

// Quantile returns the q-quantile of the values, interpolated between two
// values. It is zero without values.
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

// Median is the quantile in the middle.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Spread is half the distance between the quartiles, as a share of the median.
func Spread(values []float64) float64 {
	m := Median(values)
	if m == 0 {
		return 0
	}
	return (Quantile(values, 0.75) - Quantile(values, 0.25)) / 2 / math.Abs(m)
}

// Uncertainty is the standard error of the median, as a share of it: 1.25 σ/√n
// for random values, with a spread of 0.67 σ.
func Uncertainty(values []float64) float64 {
	return 1.25 / 0.67 * Spread(values) / math.Sqrt(float64(len(values)))
}

// ByRound combines the values of each round.
func ByRound(a, b []float64, f func(a, b float64) float64) []float64 {
	out := make([]float64, min(len(a), len(b)))
	for i := range out {
		out[i] = f(a[i], b[i])
	}
	return out
}

// Ratios divides the values of each round. A round without a value to divide by has none.
func Ratios(values, by []float64) []float64 {
	out := make([]float64, 0, len(values))
	for i := range min(len(values), len(by)) {
		if by[i] > 0 {
			out = append(out, values[i]/by[i])
		}
	}
	return out
}
