package results

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Table writes the scores of suites with one mode and one model. Others are refused with
// ErrMixed.
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
		fmt.Fprintf(out, "%s: suite %s, prompts %s, tools %s\n", s.Suite, s.SuiteHash, cmp.Or(s.PromptHash, "–"), cmp.Or(s.ToolsHash, "–"))
	}
	return nil
}

// column is a column of a table. A negative width means left-aligned.
type column struct {
	name  string
	width int
	of    func(*Summary) string
}

// rows returns the head and the lines of a table, without columns that no suite has.
func rows(all []*Summary) []string {
	count := func(of func(*Summary) int) func(*Summary) string {
		return func(s *Summary) string { return strconv.Itoa(of(s)) }
	}
	columns := []column{
		{"suite", -10, func(s *Summary) string { return s.Suite }},
		{"tasks", 5, count(func(s *Summary) int { return s.Tasks })},
		{"trials", 6, count(func(s *Summary) int { return s.Trials })},
		{"pass", 5, count(func(s *Summary) int { return s.Passed })},
		{"fail", 5, count(func(s *Summary) int { return s.Failed })},
		{"void", 5, count(func(s *Summary) int { return s.Voids })},
		{"rate", 6, (*Summary).rate},
		{"95 %", 8, (*Summary).interval},
		{"tokens", 8, (*Summary).tokens},
		{"cost (prices of " + all[0].Prices + ")", 27, (*Summary).cost},
	}
	columns = slices.DeleteFunc(columns, func(c column) bool {
		return c.width >= 8 && !slices.ContainsFunc(all, func(s *Summary) bool { return c.of(s) != none })
	})
	lines := make([]string, 1+len(all))
	for _, c := range columns {
		lines[0] += fmt.Sprintf("%*s ", c.width, c.name)
		for i, s := range all {
			lines[i+1] += fmt.Sprintf("%*s ", c.width, c.of(s))
		}
	}
	return lines
}

// none is shown for a missing value.
const none = "–"

// rate returns the rate, if any trial counts.
func (s *Summary) rate() string {
	if !s.Counts() {
		return none
	}
	return percent(s.Rate)
}

func (s *Summary) interval() string {
	if !s.Counts() {
		return none
	}
	return interval(s.Interval)
}

// tokens returns what the model's provider reported, if it did for each trial.
func (s *Summary) tokens() string {
	if !s.Reported {
		return none
	}
	return fmt.Sprint(s.Tokens)
}

func (s *Summary) cost() string {
	if s.Prices == "" {
		return none
	}
	var all []string
	for _, currency := range slices.Sorted(maps.Keys(s.Cost)) {
		all = append(all, fmt.Sprintf("%.4f %s", float64(s.Cost[currency])/1e6, currency))
	}
	return strings.Join(all, ", ")
}

// causes returns the causes of void trials.
func (s *Summary) causes() string {
	about := map[string]string{"harness": "a server, a cassette or the program itself failed", "infra": "the endpoint of the model failed", "grader": "a check could not tell"}
	var all []string
	for _, cause := range slices.Sorted(maps.Keys(s.Causes)) {
		all = append(all, fmt.Sprintf("%d × %s: %s", s.Causes[cause], cause, about[cause]))
	}
	return strings.Join(all, "; ")
}

// notes writes what does not fit in a table.
func (s *Summary) notes(out io.Writer) {
	if s.Voids > 0 {
		fmt.Fprintf(out, "%s: the rate leaves out void trials; it is %s if they had failed, %s if they had passed\n", s.Suite, percent(s.WorstRate), percent(s.BestRate))
		fmt.Fprintf(out, "%s: a void trial says nothing of the agent (%s); mend the reason that was told with it, and run the command again\n", s.Suite, s.causes())
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

func interval(i Interval) string { return fmt.Sprintf("%.0f–%.0f%%", 100*i.Low, 100*i.High) }
