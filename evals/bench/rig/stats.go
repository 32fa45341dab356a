package rig

import (
	"math"
	"slices"
)

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
