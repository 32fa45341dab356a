package rig

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestQuantile(t *testing.T) {
	for _, test := range []struct {
		values []float64
		q      float64
		want   float64
	}{
		{nil, 0.5, 0},
		{[]float64{3}, 0.5, 3},
		{[]float64{3, 1}, 0.5, 2},
		{[]float64{5, 1, 3}, 0.5, 3},
		{[]float64{5, 1, 4, 2, 3}, 0.25, 2},
		{[]float64{5, 1, 4, 2, 3}, 0.75, 4},
		{[]float64{4, 1, 3, 2}, 0.25, 1.75},
		{[]float64{1, 2}, 0, 1},
		{[]float64{1, 2}, 1, 2},
	} {
		before := slices.Clone(test.values)
		check.Equal(t, fmt.Sprint(test.values, test.q), Quantile(test.values, test.q), test.want)
		check.Same(t, "values after a quantile", test.values, before)
	}
}

func TestSpread(t *testing.T) {
	check.Equal(t, "the outlier does not count", Spread([]float64{8, 9, 10, 11, 100}), 0.1)
	check.Equal(t, "of zeros", Spread([]float64{0, 0}), 0)
}

func TestNumbersAreReadable(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{Duration(999), "999 ns"},
		{Duration(1500), "1.50 µs"},
		{Duration(2.5e6), "2.50 ms"},
		{Size(1000), "1000 B"},
		{Size(1536), "1.5 KiB"},
		{Size(-1536), "-1.5 KiB"},
		{Size(3 << 20), "3.0 MiB"},
		{Count(999), "999"},
		{Count(1000), "1,000"},
		{Count(1234567), "1,234,567"},
		{Percent(0.125), "12%"},
		{Ratio(1.006), "1.01"},
	} {
		check.Equal(t, "", test.got, test.want)
	}
}
