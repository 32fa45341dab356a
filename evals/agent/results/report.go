package results

import (
	"encoding/xml"
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

// The elements of JUnit XML.
type (
	junitSuites struct {
		XMLName  xml.Name      `xml:"testsuites"`
		Tests    int           `xml:"tests,attr"`
		Failures int           `xml:"failures,attr"`
		Errors   int           `xml:"errors,attr"`
		Suites   []*junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string    `xml:"name,attr"`
		Class   string    `xml:"classname,attr"`
		Time    string    `xml:"time,attr"`
		Failure *junitWhy `xml:"failure,omitempty"`
		Error   *junitWhy `xml:"error,omitempty"` // cause of a void trial
	}
	junitWhy struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes trials as JUnit XML, with a test suite for each suite.
func JUnit(out io.Writer, lines []*Line) error {
	var doc junitSuites
	for _, group := range BySuite(lines) {
		s := &junitSuite{Name: group[0].Suite}
		seconds := 0.0
		for _, l := range group {
			seconds += l.Duration.Seconds()
			s.add(l)
		}
		s.Time = fmt.Sprintf("%.3f", seconds)
		doc.Suites = append(doc.Suites, s)
		doc.Tests, doc.Failures, doc.Errors = doc.Tests+s.Tests, doc.Failures+s.Failures, doc.Errors+s.Errors
	}
	if _, err := io.WriteString(out, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(out)
	e.Indent("", "  ")
	return e.Encode(doc)
}

// add adds a trial. The message of a failure is the first line of the reason, cut to 200 bytes.
func (s *junitSuite) add(l *Line) {
	c := junitCase{Name: fmt.Sprintf("%s/%d", l.Task, l.Trial), Class: l.Suite, Time: fmt.Sprintf("%.3f", l.Duration.Seconds())}
	first, _, _ := strings.Cut(l.Reason, "\n")
	why := &junitWhy{Message: strings.ToValidUTF8(first[:min(len(first), 200)], ""), Text: l.Reason}
	s.Tests++
	switch l.Outcome {
	case Fail:
		s.Failures++
		c.Failure = why
	case Void:
		s.Errors++
		c.Error = why
	}
	s.Cases = append(s.Cases, c)
}
