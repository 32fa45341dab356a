package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// column is one figure in the table of a cell.
type column struct {
	head string
	text func(figures) string // "" if the figure is absent
}

func numeric(of func(figures) *float64, format func(float64) string) func(figures) string {
	return func(f figures) string {
		if v := of(f); v != nil {
			return format(*v)
		}
		return ""
	}
}

var columns = []column{
	{"cpu/op", numeric(func(f figures) *float64 { return f.CPU }, rig.Duration)},
	{"ratio", numeric(func(f figures) *float64 { return f.Ratio }, rig.Ratio)},
	{"±", numeric(func(f figures) *float64 { return f.Spread }, rig.Percent)},
	{"wall/op", numeric(func(f figures) *float64 { return f.Wall }, rig.Duration)},
	{"ops/s", numeric(func(f figures) *float64 { return f.Rate }, rig.Count)},
	{"B/op", numeric(func(f figures) *float64 { return f.Bytes }, rig.Size)},
	{"allocs/op", numeric(func(f figures) *float64 { return f.Allocs }, rig.Count)},
	{"conns/op", numeric(func(f figures) *float64 { return f.Connections }, rig.Ratio)},
	{"B/session", numeric(func(f figures) *float64 { return f.SessionBytes }, rig.Size)},
	{"goroutines", numeric(func(f figures) *float64 { return f.Goroutines }, rig.Ratio)},
	{"kept", numeric(func(f figures) *float64 { return f.Kept }, rig.Size)},
	{"with list", numeric(func(f figures) *float64 { return f.Held }, rig.Size)},
	{"copies", numeric(func(f figures) *float64 { return f.Alive }, rig.Ratio)},
}

// printCell prints the results of all clients in one cell.
func printCell(out io.Writer, results []result) {
	present := slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
		return !slices.ContainsFunc(results, func(r result) bool { return c.text(r.figures) != "" })
	})
	fmt.Fprintf(out, "%-26s", results[0].Cell)
	for _, c := range present {
		fmt.Fprintf(out, " %10s", c.head)
	}
	fmt.Fprintln(out)
	for _, r := range results {
		fmt.Fprintf(out, "  %-24s", r.Client)
		for _, c := range present {
			fmt.Fprintf(out, " %10s", c.text(r.figures))
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out)
}

// printSummary prints one line for each cell: the CPU ratio of every client, or
// the memory.
func printSummary(out io.Writer, results []result, clients []client) {
	fmt.Fprintf(out, "%-26s", "summary (cpu ÷ "+baseline+")")
	for _, c := range clients {
		fmt.Fprintf(out, " %10s", c.name)
	}
	fmt.Fprintln(out)
	for _, of := range byCell(results) {
		fmt.Fprintf(out, "  %-24s", of[0].Cell)
		for _, r := range of {
			text := ""
			for _, c := range columns {
				switch c.head {
				case "ratio", "B/session", "kept", "copies":
					text += c.text(r.figures)
				}
			}
			fmt.Fprintf(out, " %10s", text)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out)
}

// byCell splits the results by cell; they are in the order of cells.
func byCell(results []result) (cut [][]result) {
	for len(results) > 0 {
		n := slices.IndexFunc(results, func(r result) bool { return r.Cell != results[0].Cell })
		if n < 0 {
			n = len(results)
		}
		cut = append(cut, results[:n])
		results = results[n:]
	}
	return cut
}
