package rig

import (
	"fmt"
	"io"
	"math"
	"slices"
)

// Figure is a figure by the head of its column.
type Figure string

// Figures of a Meter. Times are in nanoseconds.
const (
	CPU    Figure = "cpu"
	Wall   Figure = "wall"
	Bytes  Figure = "B"
	Allocs Figure = "allocs"
)

// Sample is the figures of one sample, for one operation.
type Sample map[Figure]float64

// Column is a column of the tables.
type Column struct {
	Figure Figure
	Show   func(float64) string
}

var costColumns = []Column{{Wall, Duration}, {Bytes, Size}, {Allocs, Count}}

// Cell holds the samples of all subjects in one cell.
type Cell struct {
	Name    string
	names   []string // names of the subjects, in order
	samples map[string][]Sample
}

// NewCell returns a cell without samples.
func NewCell(name string) *Cell { return &Cell{Name: name, samples: map[string][]Sample{}} }

// Add adds a sample of a subject.
func (c *Cell) Add(subject string, s Sample) {
	if !slices.Contains(c.names, subject) {
		c.names = append(c.names, subject)
	}
	c.samples[subject] = append(c.samples[subject], s)
}

// Of returns a figure of a subject, round by round. It is empty if the figure was not measured.
func (c *Cell) Of(subject string, f Figure) (values []float64) {
	for _, s := range c.samples[subject] {
		if v, ok := s[f]; ok {
			values = append(values, v)
		}
	}
	return values
}

// Ratios divides the CPU time of a subject by the CPU time of another one, round by round.
func (c *Cell) Ratios(subject, by string) []float64 {
	return ByRound(c.Of(subject, CPU), c.Of(by, CPU), Over)
}

// printCell prints the figures of all subjects in one cell.
func (c *Comparison[C, S]) printCell(out io.Writer, cell *Cell) {
	columns := slices.DeleteFunc(slices.Concat(costColumns, c.Columns), func(col Column) bool {
		return !slices.ContainsFunc(cell.names, func(name string) bool { return len(cell.Of(name, col.Figure)) > 0 })
	})
	heads := []string{"cpu", "±", "÷ " + c.Base, "±"}
	for _, col := range columns {
		heads = append(heads, string(col.Figure))
	}
	printRow(out, cell.Name, heads)
	for _, name := range cell.names {
		texts := append(medianAndSpread(cell.Of(name, CPU), Duration), medianAndSpread(cell.Ratios(name, c.Base), Ratio)...)
		for _, col := range columns {
			texts = append(texts, medianAndSpread(cell.Of(name, col.Figure), col.Show)[0])
		}
		printRow(out, "  "+name, texts)
	}
	fmt.Fprintln(out)
}

// medianAndSpread returns the median of values and its ±, or two empty texts without values.
func medianAndSpread(values []float64, show func(float64) string) []string {
	if len(values) == 0 {
		return []string{"", ""}
	}
	return []string{show(Median(values)), Percent(Spread(values))}
}

func printRow(out io.Writer, first string, texts []string) {
	fmt.Fprintf(out, "%-26s", first)
	for _, text := range texts {
		fmt.Fprintf(out, " %11s", text)
	}
	fmt.Fprintln(out)
}

// Duration writes nanoseconds.
func Duration(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.0f ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.2f µs", ns/1e3)
	}
	return fmt.Sprintf("%.2f ms", ns/1e6)
}

// Ratio writes a number with two decimals.
func Ratio(v float64) string { return fmt.Sprintf("%.2f", v) }

// Percent writes a share.
func Percent(v float64) string { return fmt.Sprintf("%.0f%%", 100*v) }

// Size writes bytes.
func Size(bytes float64) string {
	switch a := math.Abs(bytes); {
	case a < 1<<10:
		return fmt.Sprintf("%.0f B", bytes)
	case a < 1<<20:
		return fmt.Sprintf("%.1f KiB", bytes/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", bytes/(1<<20))
}

// Count writes a whole number with a comma between thousands.
func Count(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
