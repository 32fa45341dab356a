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
	return (quantile(values, 0.75) - quantile(values, 0.25)) / 2 / m
}

// uncertainty is the standard error of the median, as a share of it: 1.25 σ/√n
// for random values, with a spread of 0.67 σ.
func uncertainty(values []float64) float64 {
	return 1.25 / 0.67 * spread(values) / math.Sqrt(float64(len(values)))
}

// ratios divides the values of each round.
func ratios(values, by []float64) []float64 {
	out := make([]float64, 0, len(values))
	for i := range min(len(values), len(by)) {
		if by[i] > 0 {
			out = append(out, values[i]/by[i])
		}
	}
	return out
}

// perOp divides a figure of each sample by its operations.
func perOp(samples []sample, of func(sample) float64) []float64 {
	out := make([]float64, len(samples))
	for i, s := range samples {
		out[i] = of(s) / float64(s.ops)
	}
	return out
}
