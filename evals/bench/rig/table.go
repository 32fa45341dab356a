package rig

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// Verdicts prints targets with their results, and counts them. The format has the cell, what is bounded, the figure, its
// bound, and whether it is met.
type Verdicts struct {
	Out             io.Writer
	Format          string
	Checked, Missed int
}

// Say prints one.
func (v *Verdicts) Say(cell, what, got, want string, ok bool) {
	v.Checked++
	verdict := "ok"
	if !ok {
		verdict = "MISSED"
		v.Missed++
	}
	fmt.Fprintf(v.Out, v.Format, cell, what, got, want, verdict)
}

// Err is the error of -check.
func (v *Verdicts) Err() error {
	switch {
	case v.Checked == 0:
		return errors.New("-check: no target applies to what was measured; measure ours in a cell that has one")
	case v.Missed > 0:
		return fmt.Errorf("%d of %d targets missed", v.Missed, v.Checked)
	}
	return nil
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

// Ratio writes a number with two digits behind the point.
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

// Count writes a number with a comma between thousands.
func Count(v float64) string {
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
