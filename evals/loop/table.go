package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// printCell prints the figures of all frameworks in one cell.
func printCell(out io.Writer, m *measured) {
	fmt.Fprintf(out, "%-18s %10s %6s %12s %6s %10s %10s %10s\n", m.cell, "cpu", "±", "ours ÷ it", "±", "wall", "B", "allocs")
	for _, name := range m.names {
		cpu := m.cpu(name)
		beside, by := "", ""
		if r := rig.ByRound(m.cpu(oursName), cpu, over); len(r) > 0 && name != oursName {
			beside, by = rig.Ratio(rig.Median(r)), rig.Percent(rig.Spread(r))
		}
		middle := func(figure func(sample) float64) float64 { return rig.Median(m.of(name, figure)) }
		fmt.Fprintf(out, "  %-16s %10s %6s %12s %6s %10s %10s %10s\n", name,
			rig.Duration(rig.Median(cpu)), rig.Percent(rig.Spread(cpu)), beside, by,
			rig.Duration(middle(func(s sample) float64 { return s.wall })),
			rig.Size(middle(func(s sample) float64 { return s.bytes })),
			rig.Count(middle(func(s sample) float64 { return s.allocs })))
	}
	fmt.Fprintln(out)
}

// printSummary prints the microseconds of CPU time, and the allocations, of all
// frameworks as a table in Markdown.
func printSummary(out io.Writer, all []*measured, frameworks []framework) {
	head, rule := "|", "|---|"
	for _, m := range all {
		head += fmt.Sprintf(" | %s", m.cell)
		rule += "---|"
	}
	fmt.Fprintf(out, "CPU time in µs (allocations)\n\n%s |\n%s\n", head, rule)
	for _, f := range frameworks {
		fmt.Fprintf(out, "| %s |", f.name)
		for _, m := range all {
			cell := "–"
			if slices.Contains(m.names, f.name) {
				allocs := rig.Median(m.of(f.name, func(s sample) float64 { return s.allocs }))
				cell = fmt.Sprintf("%s (%s)", rig.Count(rig.Median(m.cpu(f.name))/1e3), rig.Count(allocs))
			}
			fmt.Fprintf(out, " %s |", cell)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out)
}
