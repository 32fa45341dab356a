package main

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryTargetHasCells(t *testing.T) {
	for _, target := range targets {
		if !slices.ContainsFunc(cells(), func(c cell) bool { return target.cells.MatchString(c.String()) }) {
			t.Errorf("no cell matches %s (%s)", target.cells, target.what)
		}
	}
}

func TestPrintTargets(t *testing.T) {
	figured := func(client string, ratio, cpu, allocs float64) result {
		return result{"pipe/small/legacy", client, figures{Ratio: &ratio, Spread: new(0.04), CPU: &cpu, Allocs: &allocs}}
	}
	var out strings.Builder
	v := printTargets(&out, []result{
		figured(baseline, 1, 1000, 14),
		figured("ours", 1.3, 1200, 21),
		figured("go-sdk", 1.1, 1100, 50),
		figured("mcp-go", 5, 5000, 90),
	})
	if v.Checked != 4 || v.Missed != 2 {
		t.Errorf("got %d checked and %d missed, want 4 and the allocations and the go-sdk's CPU time:\n%s", v.Checked, v.Missed, &out)
	}
	for _, want := range []string{
		"cpu ratio                        1.30 ±4% ≤ 1.30       ok",
		"allocations                            21 ≤ 18         MISSED",
		"cpu, go-sdk's                     1.20 µs ≤ 1.17 µs    MISSED",
		"cpu, mcp-go's                     1.20 µs ≤ 5.21 µs    ok",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got no line %q in\n%s", want, &out)
		}
	}
}
