package rig

import (
	"fmt"
	"regexp"
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
		{measured("x", 20, 30, 25, 22, 28), true},
		{measured("x", 90, 80, 85, 82, 88), true},
		{measured("x", 40, 60, 52, 45, 55), false},
		{measured("y", 40, 60, 52, 45, 55), true},
		{measured("x"), true},
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
