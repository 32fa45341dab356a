package rig

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// halfOf bounds the CPU time of "a" by half of that of "b", in the cells x.
func halfOf() []Target {
	return []Target{{
		Cells: regexp.MustCompile(`^x$`),
		What:  "a ÷ b",
		Of:    func(c *Cell) []float64 { return c.Ratios("a", "b") },
		Limit: 0.5,
		Show:  Ratio,
	}}
}

// measured has samples of a, round by round; those of b are 100.
func measured(cell string, a ...float64) *Cell {
	c := NewCell(cell)
	for _, cpu := range a {
		c.Add("a", Sample{CPU: cpu})
		c.Add("b", Sample{CPU: 100})
	}
	return c
}

// TestDecided: a cell takes more samples while its figure is close to the limit.
func TestDecided(t *testing.T) {
	for _, test := range []struct {
		cell *Cell
		want bool
	}{
		{measured("x", 20, 30, 25, 22, 28), true}, {measured("x", 90, 80, 85, 82, 88), true},
		{measured("x", 40, 60, 52, 45, 55), false}, {measured("y", 40, 60, 52, 45, 55), true}, {measured("x"), true},
	} {
		check.Equal(t, fmt.Sprint(test.cell.Name, test.cell.Of("a", CPU)), isDecided(halfOf(), test.cell), test.want)
	}
}

func TestVerdicts(t *testing.T) {
	var out strings.Builder
	v := NewVerdicts(&out)
	check.Fails(t, v.err(), "got no error without a verdict")
	v.targets(halfOf(), measured("x", 40, 50, 60))
	v.targets(halfOf(), measured("y", 40, 50, 60))
	check.NoError(t, v.err(), "no missed target")
	v.targets(halfOf(), measured("x", 51))
	check.Equal(t, "", fmt.Sprint(v.err()), "1 of 2 targets missed")
	for _, want := range []string{"0.50 ±10% ≤ 0.50       ok\n", "0.51 ≤ 0.50       MISSED\n"} {
		check.Contains(t, "verdicts", out.String(), want)
	}
}

func TestQuantile(t *testing.T) {
	for _, test := range []struct {
		values  []float64
		q, want float64
	}{
		{nil, 0.5, 0}, {[]float64{3}, 0.5, 3}, {[]float64{3, 1}, 0.5, 2}, {[]float64{5, 1, 3}, 0.5, 3},
		{[]float64{5, 1, 4, 2, 3}, 0.25, 2}, {[]float64{5, 1, 4, 2, 3}, 0.75, 4}, {[]float64{4, 1, 3, 2}, 0.25, 1.75},
		{[]float64{1, 2}, 0, 1}, {[]float64{1, 2}, 1, 2},
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
		{Duration(999), "999 ns"}, {Duration(1500), "1.50 µs"}, {Duration(2.5e6), "2.50 ms"}, {Size(1000), "1000 B"},
		{Size(1536), "1.5 KiB"}, {Size(-1536), "-1.5 KiB"}, {Size(3 << 20), "3.0 MiB"}, {Count(999), "999"},
		{Count(1000), "1,000"}, {Count(1234567), "1,234,567"}, {Percent(0.125), "12%"}, {Ratio(1.006), "1.01"},
	} {
		check.Equal(t, "", test.got, test.want)
	}
}
