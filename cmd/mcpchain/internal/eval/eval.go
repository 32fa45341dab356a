// Package eval has an agent do the tasks of suites, and says what came of them.
package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	agenteval "github.com/mcpchain/mcpchain/evals/agent"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/internal/tryout"
)

// Main runs the program, and returns its exit status.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(args, os.Getenv, os.Stdout)
	if err == nil {
		err = evaluate(ctx, o, os.Stdout, os.Stderr)
	}
	return cli.Status(err, os.Stderr)
}

// evaluate runs the suites. Results go to out, progress to notes.
func evaluate(ctx context.Context, o *options, out, notes io.Writer) (err error) {
	all, err := o.load()
	if err != nil {
		return &cli.FileError{Err: err}
	}
	if o.list {
		return o.tasks(all, out)
	}
	if err := o.equip(ctx, all); err != nil {
		return err
	}
	end, err := o.open(ctx, notes)
	if err != nil {
		return err
	}
	defer end()
	if o.Dir, err = os.MkdirTemp("", "eval"); err != nil {
		return err
	}
	if o.Keep {
		fmt.Fprintf(notes, "the folders of trials are in %s\n", o.Dir)
	} else {
		defer os.RemoveAll(o.Dir)
	}
	if o.Results, err = results.Open(cmp.Or(o.results, filepath.Join(o.Dir, "results.jsonl"))); err != nil {
		return err
	}
	defer o.Results.Close()
	ran := map[results.Key]bool{}
	o.OnLine = func(l *results.Line, done, all int) {
		ran[l.Key()] = true
		tell(notes, l, "")
		if done%20 == 0 || done == all {
			fmt.Fprintf(notes, "%d of %d trials\n", done, all)
		}
	}
	if o.Model, err = o.Model.Open(all); err != nil {
		return err
	}
	if err := agenteval.Run(ctx, all, &o.Options); err != nil {
		return err
	}
	return o.conclude(all, ran, out, notes)
}

// load reads the suites that have a task to run.
func (o *options) load() (all []*suite.Suite, err error) {
	for _, name := range o.files {
		s, err := suite.Open(name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(s.Tasks, func(t *suite.Task) bool { return o.Tasks(s.Name, t.ID) }) {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no suite/id matches %q; -list has them", o.run)
	}
	return all, nil
}

// maxShown bounds what is listed of a prompt, in characters.
const maxShown = 80

// tasks lists the tasks that are chosen, with what each asks.
func (o *options) tasks(all []*suite.Suite, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, s := range all {
		fmt.Fprintf(w, "%s: %s\n", s.Name, s.About)
		for _, t := range s.Tasks {
			text := []rune(strings.Join(strings.Fields(t.Prompt), " "))
			if len(text) > maxShown {
				text = append(text[:maxShown-1], '…')
			}
			if o.Tasks(s.Name, t.ID) {
				fmt.Fprintf(w, "  %s/%s\t%s\n", s.Name, t.ID, string(text))
			}
		}
	}
	return w.Flush()
}

// open finds the model that is asked, if there is one: without a name it is the demo model.
func (o *options) open(ctx context.Context, notes io.Writer) (end func(), err error) {
	end = func() {}
	if o.Model.Mode != results.Live {
		return end, nil
	}
	m := o.model.Model
	if m.Name == "" {
		demo, err := tryout.StartModel()
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(notes, "the model is a demo model that follows fixed rules; -model names a real one, and -scripted takes the replies of the tasks")
		o.Model.Mode, m.Name, m.BaseURL, end = results.Demo, tryout.ModelName, demo.BaseURL, func() { _ = demo.Close() }
	}
	within, cancel := context.WithTimeout(ctx, discovery)
	defer cancel()
	m.Discover(within)
	o.Model.Endpoint, o.Prices = m, o.model.Prices
	return end, nil
}

// lines are the lines of these suites by this model and this program.
func (o *options) lines(all []*suite.Suite) ([]*results.Line, error) {
	program, err := agenteval.Program()
	if err != nil {
		return nil, err
	}
	hashes := map[string]bool{}
	for _, s := range all {
		hashes[s.Hash()] = true
	}
	lines := slices.DeleteFunc(o.Results.Lines(), func(l *results.Line) bool {
		return l.Config != o.Model.Hash() || l.Program != program || !hashes[l.SuiteHash] || !o.Tasks(l.Suite, l.Task)
	})
	if len(lines) == 0 {
		return nil, results.ErrEmpty
	}
	return lines, nil
}

// conclude prints what came of the suites, and fails below the threshold.
func (o *options) conclude(suites []*suite.Suite, ran map[results.Key]bool, out, notes io.Writer) error {
	lines, err := o.lines(suites)
	if err != nil {
		return err
	}
	o.kept(lines, ran, notes)
	var all []*results.Summary
	var wrong []error
	for _, of := range results.BySuite(lines) {
		sum, err := results.Summarize(of)
		if wrong = append(wrong, err); sum == nil {
			continue
		}
		all = append(all, sum)
		if sum.Counts() && sum.Rate < o.least {
			wrong = append(wrong, fmt.Errorf("%s: %d of %d trials failed", sum.Suite, sum.Failed, sum.Trials))
		}
		if o.passAt > 0 {
			wrong = append(wrong, sum.NeedsTrials(o.passAt))
		}
	}
	wrong = append(wrong, o.writeJUnit(lines))
	if o.json {
		for _, l := range lines {
			wrong = append(wrong, json.NewEncoder(out).Encode(l))
		}
		return errors.Join(wrong...)
	}
	slices.SortFunc(all, func(a, b *results.Summary) int { return cmp.Compare(a.Suite, b.Suite) })
	return errors.Join(append(wrong, results.Table(out, all))...)
}

func (o *options) writeJUnit(lines []*results.Line) error {
	if o.junit == "" {
		return nil
	}
	f, err := os.Create(o.junit)
	if err != nil {
		return err
	}
	return errors.Join(results.JUnit(f, lines), f.Close())
}

// tell writes what came of a trial that did not pass.
func tell(notes io.Writer, l *results.Line, from string) {
	if l.Outcome != results.Pass {
		fmt.Fprintf(notes, "%s %s/%s %d%s: %s\n", l.Outcome, l.Suite, l.Task, l.Trial, from, l.Reason)
	}
}

// kept says which lines are of earlier commands: they say nothing of the servers of today.
func (o *options) kept(lines []*results.Line, ran map[results.Key]bool, notes io.Writer) {
	n, oldest := 0, lines[0].Date
	for _, l := range lines {
		if ran[l.Key()] {
			continue
		}
		n++
		tell(notes, l, " (from "+filepath.Base(o.results)+")")
		if l.Date.Before(oldest) {
			oldest = l.Date
		}
	}
	if n > 0 {
		fmt.Fprintf(notes, "%d of %d trials are from %s, the oldest of %s; -again runs them again\n", n, len(lines), o.results, oldest.Format("2006-01-02"))
	}
}
