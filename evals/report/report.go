package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/check"
)

// Data is what a page shows.
type Data struct {
	Date   time.Time
	Checks []*check.Check
	Trials []*results.Line
}

//go:embed page.html
var pageHTML string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"percent": func(v float64) string { return fmt.Sprintf("%.1f%%", 100*v) },
	"money":   func(micro int64) string { return fmt.Sprintf("%.4f", float64(micro)/1e6) },
	"seconds": func(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) },
}).Parse(pageHTML))

// view is what the template gets.
type view struct {
	Date        string
	Conformance []*check.Check
	Interop     []peer
	Speed       []chart
	Memory      []chart
	Loop, Chaos []*check.Check
	Agent       []section
	Replaced    int      // lines that newer ones have replaced
	Missing     []string // commands without results
}

// section is the suites of one mode and model.
type section struct {
	Mode    results.Mode
	Model   string
	Config  string
	Suites  []suiteView
	Trouble []string
}

type suiteView struct {
	*results.Summary
	Graders []grader
	Trials  []*results.Line
}

type grader struct {
	Name string
	Mean float64
}

// peer is a server of another project, with what was tried at it.
type peer struct {
	Name  string
	Cells []*check.Check
}

// Write writes the page. Suites of several modes and models stand in sections of their own.
func Write(out io.Writer, d *Data) error {
	v := &view{Date: d.Date.UTC().Format("2006-01-02 15:04 MST")}
	for _, c := range d.Checks {
		switch c.Kind {
		case "conformance":
			v.Conformance = append(v.Conformance, c)
		case "loop":
			v.Loop = append(v.Loop, c)
		case "chaos":
			v.Chaos = append(v.Chaos, c)
		}
	}
	v.Interop = peers(d.Checks)
	v.Speed = charts(d.Checks, "cpu_ratio", "CPU time of a call, divided by the floor's", 1)
	v.Memory = charts(d.Checks, "bytes_per_session", "KiB of an idle session", 1024)
	trials, replaced := results.Current(d.Trials)
	v.Agent, v.Replaced = sections(trials), replaced
	v.Missing = v.missing()
	return page.Execute(out, v)
}

// missing are the commands without results.
func (v *view) missing() (commands []string) {
	for _, c := range []struct {
		name    string
		results int
	}{
		{"conformance", len(v.Conformance)}, {"interop", len(v.Interop)}, {"bench", len(v.Speed) + len(v.Memory)}, {"loop", len(v.Loop)},
		{"chaos", len(v.Chaos)}, {"agent", len(v.Agent)},
	} {
		if c.results == 0 {
			commands = append(commands, c.name)
		}
	}
	return commands
}

// peers groups the checks of interop by their test.
func peers(all []*check.Check) (found []peer) {
	at := map[string]int{}
	for _, c := range all {
		if c.Kind != "interop" {
			continue
		}
		name, rest, _ := strings.Cut(c.Name, "/")
		i, ok := at[name]
		if !ok {
			i = len(found)
			at[name], found = i, append(found, peer{Name: strings.TrimPrefix(name, "Test")})
		}
		cell := *c
		cell.Name = cmp.Or(rest, "all")
		found[i].Cells = append(found[i].Cells, &cell)
	}
	slices.SortFunc(found, func(a, b peer) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

// sections scores trials, apart by mode and model.
func sections(lines []*results.Line) (all []section) {
	at := map[string]int{}
	for _, of := range results.BySuite(lines) {
		sum, err := results.Summarize(of)
		key := fmt.Sprint(of[0].Mode, of[0].Model, of[0].Config)
		i, ok := at[key]
		if !ok {
			i = len(all)
			at[key], all = i, append(all, section{Mode: of[0].Mode, Model: of[0].Model, Config: of[0].Config})
		}
		s := &all[i]
		if err != nil {
			s.Trouble = append(s.Trouble, err.Error())
		}
		if sum == nil {
			continue
		}
		one := suiteView{Summary: sum, Trials: slices.Clone(of)}
		slices.SortFunc(one.Trials, func(a, b *results.Line) int {
			return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Trial, b.Trial))
		})
		for _, name := range slices.Sorted(maps.Keys(sum.Graders)) {
			one.Graders = append(one.Graders, grader{name, sum.Graders[name]})
		}
		s.Suites = append(s.Suites, one)
	}
	return all
}

// rank puts what needs a look first.
func rank(l *results.Line) int {
	return slices.Index([]results.Outcome{results.Fail, results.Void, results.Pass}, l.Outcome)
}
