package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
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
	{"cpu/op", numeric(func(f figures) *float64 { return f.CPU }, duration)},
	{"ratio", numeric(func(f figures) *float64 { return f.Ratio }, ratio)},
	{"±", numeric(func(f figures) *float64 { return f.Spread }, percent)},
	{"wall/op", numeric(func(f figures) *float64 { return f.Wall }, duration)},
	{"ops/s", numeric(func(f figures) *float64 { return f.Rate }, count)},
	{"B/op", numeric(func(f figures) *float64 { return f.Bytes }, size)},
	{"allocs/op", numeric(func(f figures) *float64 { return f.Allocs }, count)},
	{"conns/op", numeric(func(f figures) *float64 { return f.Connections }, ratio)},
	{"B/session", numeric(func(f figures) *float64 { return f.SessionBytes }, size)},
	{"goroutines", numeric(func(f figures) *float64 { return f.Goroutines }, ratio)},
	{"kept", numeric(func(f figures) *float64 { return f.Kept }, size)},
	{"with list", numeric(func(f figures) *float64 { return f.Held }, size)},
	{"copies", numeric(func(f figures) *float64 { return f.Alive }, ratio)},
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

func duration(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.0f ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.2f µs", ns/1e3)
	}
	return fmt.Sprintf("%.2f ms", ns/1e6)
}

func ratio(v float64) string { return fmt.Sprintf("%.2f", v) }

func percent(v float64) string { return fmt.Sprintf("%.0f%%", 100*v) }

func size(bytes float64) string {
	switch a := math.Abs(bytes); {
	case a < 1<<10:
		return fmt.Sprintf("%.0f B", bytes)
	case a < 1<<20:
		return fmt.Sprintf("%.1f KiB", bytes/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", bytes/(1<<20))
}

// count writes a number with a comma between thousands.
func count(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}
