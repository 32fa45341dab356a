package results

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Table writes the scores of suites. The error matches ErrMixed if their modes, models or programs differ, or ErrEmpty.
func Table(out io.Writer, all []*Summary) error {
	if len(all) == 0 {
		return ErrEmpty
	}
	first := all[0]
	for _, s := range all {
		if s.Mode != first.Mode || s.Config != first.Config || s.Program != first.Program {
			return fmt.Errorf("%w: %s (%s) and %s (%s)", ErrMixed, first.Model, first.Mode, s.Model, s.Mode)
		}
	}
	fmt.Fprintf(out, "%s: model %s, %s\n", first.Mode, first.Model, first.Date.Format("2006-01-02"))
	for _, row := range rows(all) {
		fmt.Fprintln(out, strings.TrimRight(row, " "))
	}
	for _, s := range all {
		s.notes(out)
	}
	fmt.Fprintf(out, "versions: model and settings %s, program %s\n", first.Config, first.Program)
	for _, s := range all {
		fmt.Fprintf(out, "%s: suite %s\n", s.Suite, s.SuiteHash)
	}
	return nil
}

// none is shown for a missing value.
const none = "–"

// rows returns the head and the lines of a table, without columns that no suite has.
func rows(all []*Summary) []string {
	columns := []struct {
		name  string
		width int // negative: left-aligned
	}{
		{"suite", -10}, {"tasks", 5}, {"trials", 6}, {"pass", 5}, {"fail", 5}, {"void", 5}, {"rate", 6},
		{"95 %", 8}, {"tokens", 8}, {"cost (prices of " + all[0].Prices + ")", 27},
	}
	var cells [][]string
	for _, s := range all {
		cells = append(cells, s.cells())
	}
	lines := make([]string, 1+len(all))
	for i, c := range columns {
		if !slices.ContainsFunc(cells, func(row []string) bool { return row[i] != none }) && c.name != "rate" {
			continue
		}
		lines[0] += fmt.Sprintf("%*s ", c.width, c.name)
		for j, row := range cells {
			lines[j+1] += fmt.Sprintf("%*s ", c.width, row[i])
		}
	}
	return lines
}

// cells returns the texts for the columns of a table. There is no rate unless a trial counts, and
// there are no tokens unless the model's provider reported them for each trial.
func (s *Summary) cells() []string {
	rate, interval, tokens, cost := none, none, none, none
	if s.Counts() {
		rate = percent(s.Rate)
		interval = fmt.Sprintf("%.0f–%.0f%%", 100*s.Interval.Low, 100*s.Interval.High)
	}
	if s.Reported {
		tokens = fmt.Sprint(s.Tokens)
	}
	if s.Prices != "" {
		var all []string
		for _, currency := range slices.Sorted(maps.Keys(s.Cost)) {
			all = append(all, fmt.Sprintf("%.4f %s", float64(s.Cost[currency])/1e6, currency))
		}
		cost = strings.Join(all, ", ")
	}
	counts := []string{s.Suite}
	for _, n := range []int{s.Tasks, s.Trials, s.Passed, s.Failed, s.Void} {
		counts = append(counts, fmt.Sprint(n))
	}
	return append(counts, rate, interval, tokens, cost)
}

// notes writes what void trials mean, and the scores of several trials.
func (s *Summary) notes(out io.Writer) {
	if s.Void > 0 {
		fmt.Fprintf(out, "%s: void trials say nothing about the agent, and do not count; correct the reason shown with them, and run the command again\n", s.Suite)
	}
	var ks []string
	for _, k := range slices.Sorted(maps.Keys(s.PassAt)) {
		if k > 1 {
			ks = append(ks, fmt.Sprintf("pass@%d %s, pass^%d %s", k, percent(s.PassAt[k]), k, percent(s.PassAll[k])))
		}
	}
	if len(ks) > 0 {
		fmt.Fprintf(out, "%s: %s (means over tasks, not over pooled trials)\n", s.Suite, strings.Join(ks, "; "))
	}
}

func percent(v float64) string { return fmt.Sprintf("%.1f%%", 100*v) }
