package main

import (
	"math"
	"slices"
)

// quantile returns the q-quantile of the values, interpolated between two
// values. It is zero without values.
func quantile(values []float64, q float64) float64 {
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

func median(values []float64) float64 { return quantile(values, 0.5) }

// spread is half the distance between the quartiles, as a share of the median.
func spread(values []float64) float64 {
	m := median(values)
	if m == 0 {
		return 0
	}
	return (quantile(values, 0.75) - quantile(values, 0.25)) / 2 / math.Abs(m)
}

// uncertainty is the standard error of the median, as a share of it: 1.25 σ/√n
// for random values, with a spread of 0.67 σ.
func uncertainty(values []float64) float64 {
	return 1.25 / 0.67 * spread(values) / math.Sqrt(float64(len(values)))
}

// byRound combines the values of each round.
func byRound(a, b []float64, f func(a, b float64) float64) []float64 {
	out := make([]float64, min(len(a), len(b)))
	for i := range out {
		out[i] = f(a[i], b[i])
	}
	return out
}

func over(a, b float64) float64 { return a / b }
func less(a, b float64) float64 { return a - b }
