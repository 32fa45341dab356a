// Package eval is the command eval: an agent does the tasks of suites, and checks decide on the outcome.
package eval

import (
	"cmp"
	"context"
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

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	agenteval "github.com/mcpchain/mcpchain/evals/agent"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/tryout"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// Main runs the command, and returns its exit status.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(args, os.Getenv, os.Stdout)
	if err == nil {
		err = evaluate(ctx, o, os.Stdout, os.Stderr)
	}
	return cli.Status(err, os.Stderr)
}

// evaluate runs the suites. It writes results to out, and progress to notes.
func evaluate(ctx context.Context, o *options, out, notes io.Writer) error {
	suites, err := o.load()
	if err != nil {
		return &cli.FileError{Err: err}
	}
	if o.list {
		return o.listTasks(suites, out)
	}
	if err := o.checkScripts(suites); err != nil {
		return err
	}
	if err := o.addServers(ctx, suites); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(o.junit)); err != nil { // before trials that may take hours
		return &cli.FileError{Err: fmt.Errorf("-junit: %w", err)}
	}
	closeModel, err := o.openModel(ctx, notes)
	if err != nil {
		return err
	}
	defer closeModel()
	if o.Dir, err = os.MkdirTemp("", "eval"); err != nil {
		return err
	}
	if o.Keep {
		fmt.Fprintf(notes, "the folders of trials are in %s\n", o.Dir)
	} else {
		defer os.RemoveAll(o.Dir)
	}
	if o.Results, err = results.Open(cmp.Or(o.results, filepath.Join(o.Dir, "results.jsonl"))); err != nil {
		return &cli.FileError{Err: fmt.Errorf("-results: %w", err)}
	}
	defer o.Results.Close()
	ran, err := o.runTrials(ctx, suites, notes)
	if err != nil {
		return err
	}
	return o.conclude(suites, ran, out, notes)
}

// progressEvery is the number of trials after which progress is reported.
const progressEvery = 20

// runTrials runs the trials that have no results yet, and returns their keys.
func (o *options) runTrials(ctx context.Context, suites []*suite.Suite, notes io.Writer) (ran map[results.Key]bool, err error) {
	ran = map[results.Key]bool{}
	o.OnLine = func(l *results.Line, done, all int) {
		ran[l.Key()] = true
		report(notes, l, "")
		if done%progressEvery == 0 || done == all {
			fmt.Fprintf(notes, "%d of %d trials\n", done, all)
		}
	}
	if o.Model, err = o.Model.Open(suites); err != nil {
		return nil, &cli.FileError{Err: err}
	}
	return ran, agenteval.Run(ctx, suites, &o.Options)
}

// load reads the suites that have a task to run.
func (o *options) load() (suites []*suite.Suite, err error) {
	files := map[string]string{} // by the name of their suite, by which results are summarized
	for _, name := range o.files {
		s, err := suite.Open(name)
		if err != nil {
			return nil, err
		}
		if other, ok := files[s.Name]; ok {
			return nil, fmt.Errorf("%s: the suite %q is in %s, too; give each suite once, with a name of its own", name, s.Name, other)
		}
		files[s.Name] = name
		if slices.ContainsFunc(s.Tasks, func(t *suite.Task) bool { return o.Tasks(s.Name, t.ID) }) {
			suites = append(suites, s)
		}
	}
	if len(suites) == 0 {
		return nil, fmt.Errorf("no suite/id matches %q; -list has them", o.run)
	}
	return suites, nil
}

// checkScripts returns an error for a chosen task without the script that -scripted needs.
func (o *options) checkScripts(suites []*suite.Suite) error {
	for _, s := range suites {
		for _, t := range s.Tasks {
			if o.scripted && len(t.Script) == 0 && o.Tasks(s.Name, t.ID) {
				return &cli.FileError{Err: fmt.Errorf("-scripted: task %s/%s has no script; -run selects others", s.Name, t.ID)}
			}
		}
	}
	return nil
}

// maxPrompt bounds the text of a prompt in a list, in characters.
const maxPrompt = 80

// listTasks lists the chosen tasks with their prompts.
func (o *options) listTasks(suites []*suite.Suite, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, s := range suites {
		fmt.Fprintln(w, strings.TrimSuffix(s.Name+": "+s.About, ": "))
		for _, t := range s.Tasks {
			if o.Tasks(s.Name, t.ID) {
				fmt.Fprintf(w, "  %s/%s\t%s\n", s.Name, t.ID, hosttext.Line(t.Prompt, maxPrompt))
			}
		}
	}
	return w.Flush()
}

// openModel prepares the model that is asked, if any: the demo model if it has no name. The caller calls closeModel.
func (o *options) openModel(ctx context.Context, notes io.Writer) (closeModel func(), err error) {
	closeModel = func() {}
	if o.Model.Mode != results.Live {
		return closeModel, nil
	}
	m := o.model.Model
	if m.Name == "" {
		demo, err := tryout.StartModel()
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(notes, "the model is a demo model that follows fixed rules; -model names a real one, and -scripted takes the replies of the tasks")
		o.Model.Mode, m.Name, m.BaseURL = results.Demo, tryout.ModelName, demo.BaseURL
		closeModel = func() { _ = demo.Close() }
	}
	within, cancel := context.WithTimeout(ctx, discovery)
	defer cancel()
	m.Discover(within)
	o.Model.Endpoint, o.Prices = m, o.model.Prices
	return closeModel, nil
}

// lines returns the results of these suites by this model and this program.
func (o *options) lines(suites []*suite.Suite) ([]*results.Line, error) {
	program, err := agenteval.Program()
	if err != nil {
		return nil, err
	}
	hashes := map[string]bool{}
	for _, s := range suites {
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

// conclude writes the results. It returns an error if a suite has no score, or is below the threshold.
func (o *options) conclude(suites []*suite.Suite, ran map[results.Key]bool, out, notes io.Writer) error {
	lines, err := o.lines(suites)
	if err != nil {
		return err
	}
	o.reportKept(lines, ran, notes)
	var summaries []*results.Summary
	var wrong []error
	for _, of := range results.BySuite(lines) {
		sum, err := results.Summarize(of)
		if wrong = append(wrong, err); sum == nil {
			continue
		}
		summaries = append(summaries, sum)
		if sum.Counts() && sum.Rate < o.least {
			wrong = append(wrong, fmt.Errorf("%s: %d of %d trials failed", sum.Suite, sum.Failed, sum.Trials))
		}
	}
	wrong = append(wrong, o.writeJUnit(lines))
	if o.json {
		for _, l := range lines {
			wrong = append(wrong, cli.WriteJSON(out, l, ""))
		}
		return errors.Join(wrong...)
	}
	slices.SortFunc(summaries, func(a, b *results.Summary) int { return cmp.Compare(a.Suite, b.Suite) })
	var table strings.Builder
	wrong = append(wrong, results.Table(&table, summaries))
	_, err = io.WriteString(out, table.String())
	return errors.Join(append(wrong, err)...)
}

// writeJUnit writes the results to the file of -junit, if any.
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

// report reports a trial that did not pass, with its answer, if it has one. source follows its number, and may be empty.
func report(notes io.Writer, l *results.Line, source string) {
	if l.Outcome == results.Pass {
		return
	}
	fmt.Fprintf(notes, "%s %s/%s %d%s: %s\n", l.Outcome, l.Suite, l.Task, l.Trial, source, hosttext.Escape(l.Reason))
	for _, e := range slices.Backward(l.Transcript) {
		if e.Who == "assistant" && e.Kind == "text" {
			fmt.Fprintf(notes, "  its answer: %s\n", hosttext.Line(e.Text, 400))
			break
		}
	}
}

// reportKept lists which results are from earlier runs of the program: the servers may have changed since.
func (o *options) reportKept(lines []*results.Line, ran map[results.Key]bool, notes io.Writer) {
	n, oldest := 0, lines[0].Date
	for _, l := range lines {
		if ran[l.Key()] {
			continue
		}
		n++
		report(notes, l, " (from "+filepath.Base(o.results)+")")
		if l.Date.Before(oldest) {
			oldest = l.Date
		}
	}
	if n > 0 {
		fmt.Fprintf(notes, "%d of %d trials are from %s, the oldest of %s; with another file they are run again\n", n, len(lines), o.results, oldest.Format("2006-01-02"))
	}
}

// addServers adds the servers of -config, or the demo server, to the suites without servers. Each trial connects again.
func (o *options) addServers(ctx context.Context, suites []*suite.Suite) error {
	servers := map[string]*suite.Server{"demo": {Dial: demo}}
	switch o.config {
	case "":
	case cli.NoServers:
		servers = nil
	default:
		c, err := (&config.Loader{AllowFilters: true}).Load(ctx, o.config)
		if err != nil {
			return &cli.FileError{Err: err}
		}
		found, wrong := adapter.FromConfig(c)
		if len(wrong) > 0 {
			return &cli.FileError{Err: wrong[0].Err}
		}
		servers = map[string]*suite.Server{}
		for _, s := range found {
			servers[s.Name] = &suite.Server{As: s, Dial: func(context.Context, string) (mcpclient.Transport, func() error, error) {
				return s.Transport, nil, nil
			}}
		}
	}
	for _, s := range suites {
		if len(s.Servers) == 0 {
			s.Servers = servers
		}
	}
	return nil
}

// demo starts a demo server.
func demo(ctx context.Context, _ string) (mcpclient.Transport, func() error, error) {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	session, err := tryout.NewServer().Connect(context.WithoutCancel(ctx), &sdk.IOTransport{Reader: fromClient, Writer: toClient}, nil)
	if err != nil {
		return nil, nil, err
	}
	return &mcpclient.IO{Reader: fromServer, Writer: toServer}, session.Close, nil
}
