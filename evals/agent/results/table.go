package results

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/evals/stats"
)

// Table writes the scores of suites of one mode and one model. Others are refused with ErrMixed.
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
	fmt.Fprintf(out, "%s: model %s, config %s, program %s, %s\n", first.Mode, first.Model, first.Config, first.Program, first.Date.Format("2006-01-02"))
	costs := ""
	if first.Prices != "" {
		costs = "cost (prices of " + first.Prices + ")"
	}
	fmt.Fprintf(out, "%-10s %-12s %5s %6s %5s %5s %5s %6s  %-9s %-9s %-9s %-9s %8s %s\n",
		"suite", "hash", "tasks", "trials", "pass", "fail", "void", "rate", "95 %", "t", "BCa", "Wilson", "tokens", costs)
	for _, s := range all {
		fmt.Fprintf(out, "%-10s %-12s %5d %6d %5d %5d %5d %6s  %-9s %-9s %-9s %-9s %8s %s\n",
			s.Suite, s.SuiteHash, s.Tasks, s.Trials, s.Passed, s.Failed, s.Voids, percent(s.Rate), interval(s.Interval), known(s.T), known(s.BCa), known(s.Wilson),
			s.tokens(), s.cost())
	}
	for _, s := range all {
		s.notes(out)
	}
	return nil
}

// known is an interval, if there is one: [stats.Regular] says when for t and BCa, and Wilson's is for one
// trial of each task.
func known(i *stats.Interval) string {
	if i == nil {
		return "–"
	}
	return interval(*i)
}

// tokens are what the model's provider reported, if it did for each trial.
func (s *Summary) tokens() string {
	if !s.Reported {
		return "–"
	}
	return fmt.Sprint(s.Tokens)
}

func (s *Summary) cost() string {
	var all []string
	for _, currency := range slices.Sorted(maps.Keys(s.Cost)) {
		all = append(all, fmt.Sprintf("%.4f %s", float64(s.Cost[currency])/1e6, currency))
	}
	return strings.Join(all, ", ")
}

// causes are what made trials void.
func (s *Summary) causes() string {
	about := map[string]string{"harness": "a server, a cassette or the program itself failed", "infra": "the endpoint of the model failed", "grader": "a check could not tell"}
	var all []string
	for _, cause := range slices.Sorted(maps.Keys(s.Causes)) {
		all = append(all, fmt.Sprintf("%d × %s: %s", s.Causes[cause], cause, about[cause]))
	}
	return strings.Join(all, "; ")
}

// notes are what does not fit in a table.
func (s *Summary) notes(out io.Writer) {
	fmt.Fprintf(out, "%s: prompts %s, tools %s\n", s.Suite, cmp.Or(s.PromptHash, "–"), cmp.Or(s.ToolsHash, "–"))
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

// String says what the difference is, if it can be told.
func (d *Difference) String() string {
	verdict := fmt.Sprintf("%+.1f points, 95 %% %s", 100*d.Mean, interval(d.Interval))
	if !d.Apart() {
		verdict = "not told apart"
	}
	return fmt.Sprintf("%s: %s against %s on %d tasks: %s (p %.3g, by Holm %.3g; %s)",
		d.Suite, d.A, d.B, d.Tasks, verdict, d.P, d.Adjusted, d.detectable())
}

func (d *Difference) detectable() string {
	if d.Detectable > 1 {
		return "so few tasks show no difference"
	}
	return fmt.Sprintf("%.1f points can be found", 100*d.Detectable)
}

func percent(v float64) string { return fmt.Sprintf("%.1f%%", 100*v) }

func interval(i stats.Interval) string { return fmt.Sprintf("%.0f–%.0f%%", 100*i.Low, 100*i.High) }
