package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	agenteval "github.com/mcpchain/mcpchain/evals/agent"
	"github.com/mcpchain/mcpchain/evals/agent/model"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/evals/agent/suites"
	"github.com/mcpchain/mcpchain/evals/check"
	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/price"
)

// agentSettings are the flags of the command agent.
type agentSettings struct {
	agenteval.Options
	files   []string
	run     *regexp.Regexp
	json    bool
	results string
	junit   string
	against string
	least   float64
	passAt  int
	listed  bool
	ran     map[results.Key]bool // by this command
}

const agentPurpose = `Agent runs the tasks of suites by an agent and checks what came of them: the answer, the state of
the servers, the effects of calls. Without a file it runs the suites of the repository. Without -model
each task has a script in place of a model, so nothing leaves this machine: this tests the agent, the
servers and the checks, and no model. A live model needs -base-url and -name.

The table has, for each suite: tasks and trials; how many trials passed and failed, and how many are
void because they say nothing of the agent; the rate, a mean over tasks; Wilson's interval of
95 %, in which each task counts once; the tokens and costs, if they are known. Below it stand the hashes of what ran: results of different ones are not compared.`

var agentStatuses = []string{
	"0 if every suite reaches -least",
	"1 if one does not, if more than 5 % of its trials are void, or if a suite cannot be read or run",
	"2 if the command line is wrong",
}

func parseAgent(args []string, notes io.Writer) (*agentSettings, error) {
	s := &agentSettings{run: regexp.MustCompile(""), ran: map[results.Key]bool{}}
	flags := newFlags("agent", "[flags] [suite.yaml ...]", agentPurpose, agentStatuses, notes)
	flags.BoolVar(&s.listed, "list", false, "list the suites and their tasks, and run none")
	flags.StringVar(&s.Model.Kind, "model", "scripted", "`kind` of the model: "+strings.Join(model.Kinds, ", "))
	flags.StringVar(&s.Model.Name, "name", "", "name of a live model")
	flags.StringVar(&s.Model.BaseURL, "base-url", "", "OpenAI-compatible endpoint of a live model, as in http://localhost:11434/v1")
	flags.StringVar(&s.Model.KeyEnv, "key-env", "OPENAI_API_KEY", "environment `variable` that has the key of a live model")
	flags.StringVar(&s.Model.API, "api", "", "API of a live model: chat or responses; empty is by its endpoint and its name")
	flags.StringVar(&s.Model.Host, "host", "", "kind of the host of a live model, such as vllm; empty is by its endpoint")
	flags.StringVar(&s.Model.Effort, "effort", "", "effort of reasoning of a live model: none, minimal, low, medium, high, xhigh or max")
	flags.IntVar(&s.Model.MaxTokens, "max-tokens", 0, "tokens of a reply of a live model; 0 is its own bound")
	flags.Func("extra", "JSON `object` of fields that each request to a live model has", func(text string) error {
		return json.Unmarshal([]byte(text), &s.Model.Extra)
	})
	flags.StringVar(&s.Model.Cassette, "cassettes", "", "`directory` of the replies of a recorded model")
	flags.BoolVar(&s.Model.Record, "record", false, "record what a live model and the servers say into -cassettes")
	flags.BoolVar(&s.Model.Servers, "recorded-servers", false, "play the servers from -cassettes, too; servers in process are as ever")
	flags.Uint64Var(&s.Model.Seed, "seed", 0, "seed of the baseline random")
	flags.IntVar(&s.Trials, "trials", 1, "trials of each task")
	flags.IntVar(&s.Parallel, "parallel", 0, "trials at one time; 0 is twice the number of processors")
	flags.DurationVar(&s.Patience, "patience", 0, "the least time limit of a trial, for a slow machine; a task may have a longer one")
	flags.BoolVar(&s.Anew, "anew", false, "run the trials again that -results has")
	flags.Func("prices", "tell the cost by this `file` of JSON: the prices of models per million tokens, in millionths", s.readPrices)
	flags.IntVar(&s.passAt, "pass-at", 0, "tell pass@`k` and pass^k; it is an error if a task has fewer trials that count")
	flags.BoolVar(&s.Keep, "keep", false, "keep the directories of trials, and tell where they are")
	flags.BoolVar(&s.json, "json", false, "print the results as JSON, one a line, instead of tables")
	flags.StringVar(&s.results, "results", "", "keep the results in this `file` of JSON lines, and skip the trials that it has")
	flags.StringVar(&s.junit, "junit", "", "write the results to this `file` as JUnit XML")
	flags.StringVar(&s.against, "against", "", "compare with the results in this `file`, of another model")
	flags.Float64Var(&s.least, "least", 1, "fail if the rate of a suite is lower; 0 never fails")
	flags.Func("run", "only the tasks whose suite/id matches this `regexp`", func(v string) (err error) {
		s.run, err = regexp.Compile(v)
		return err
	})
	if err := parse(flags, args); err != nil {
		return nil, err
	}
	if s.json && s.against != "" {
		return nil, &usageError{errors.New("-against is for a table: leave out -json")}
	}
	s.files = flags.Args()
	s.Tasks = func(suite, task string) bool { return s.run.MatchString(suite + "/" + task) }
	if err := s.Model.Check(); err != nil {
		return nil, &usageError{err}
	}
	return s, nil
}

func (s *agentSettings) readPrices(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	s.Prices = &price.Table{}
	if err := json.Unmarshal(data, s.Prices); err != nil {
		return err
	}
	return cost.Check(s.Prices)
}

// load reads the suites that are named; without any, the suites of the repository.
func (s *agentSettings) load() (all []*suite.Suite, err error) {
	if len(s.files) == 0 {
		return suites.All()
	}
	for _, name := range s.files {
		one, err := suite.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			err = ofRepository(name, err)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// ofRepository says how a suite of the repository is chosen, if its name stands where a file is wanted.
func ofRepository(name string, err error) error {
	all, wrong := suites.All()
	if wrong != nil {
		return errors.Join(err, wrong)
	}
	of, task, _ := strings.Cut(name, "/")
	for _, one := range all {
		switch {
		case one.Name != of:
		case task == "":
			return fmt.Errorf("%w; for the suite of the repository: -run '^%s/'", err, of)
		case one.Task(task) != nil:
			return fmt.Errorf("%w; for the task of the repository: -run '^%s/%s$'", err, of, task)
		}
	}
	return err
}

// agentCommand runs suites.
func agentCommand(ctx context.Context, args []string, out, notes io.Writer) error {
	s, err := parseAgent(args, notes)
	if err != nil {
		return err
	}
	all, err := s.load()
	if err != nil {
		return err
	}
	if all = s.with(all); len(all) == 0 {
		return &usageError{fmt.Errorf("no suite/id matches %q; see -list", s.run)}
	}
	if s.listed {
		return s.list(all, out)
	}
	scratch, err := os.MkdirTemp("", "evals")
	if err != nil {
		return err
	}
	if s.Keep {
		fmt.Fprintf(notes, "the directories of trials are in %s\n", scratch)
	} else {
		defer os.RemoveAll(scratch)
	}
	s.Dir = scratch
	s.Results, err = results.Open(cmp.Or(s.results, filepath.Join(scratch, "results.jsonl")))
	if err != nil {
		return err
	}
	defer s.Results.Close()
	began := time.Now()
	s.OnLine = func(l *results.Line, done, all int) {
		s.ran[l.Key()] = true
		tell(notes, l, "")
		if done%20 == 0 || done == all {
			fmt.Fprintf(notes, "%d of %d trials, %s\n", done, all, time.Since(began).Round(100*time.Millisecond))
		}
	}
	if s.Model, err = s.Model.Open(all); err != nil {
		return err
	}
	if err := agenteval.Run(ctx, all, &s.Options); err != nil {
		return err
	}
	return s.conclude(all, out, notes)
}

// with are the suites that have a task to run.
func (s *agentSettings) with(all []*suite.Suite) (some []*suite.Suite) {
	for _, one := range all {
		if slices.ContainsFunc(one.Tasks, func(t *suite.Task) bool { return s.Tasks(one.Name, t.ID) }) {
			some = append(some, one)
		}
	}
	return some
}

// lines are the lines of these suites by this model and this program.
func (s *agentSettings) lines(all []*suite.Suite) ([]*results.Line, error) {
	program, err := agenteval.Program()
	if err != nil {
		return nil, err
	}
	hashes := map[string]bool{}
	for _, one := range all {
		hashes[one.Name+" "+one.Hash()] = true
	}
	lines := slices.DeleteFunc(s.Results.Lines(), func(l *results.Line) bool {
		return l.Config != s.Model.Hash() || l.Program != program || !hashes[l.Suite+" "+l.SuiteHash] || !s.Tasks(l.Suite, l.Task)
	})
	if len(lines) == 0 {
		return nil, results.ErrEmpty
	}
	return lines, nil
}

// conclude prints what came of the suites, and fails below the threshold.
func (s *agentSettings) conclude(suites []*suite.Suite, out, notes io.Writer) error {
	lines, err := s.lines(suites)
	if err != nil {
		return err
	}
	s.kept(lines, notes)
	var all []*results.Summary
	var wrong []error
	for _, of := range results.BySuite(lines) {
		sum, err := results.Summarize(of)
		wrong = append(wrong, err)
		if sum == nil {
			continue
		}
		all = append(all, sum)
		if sum.Counts() && sum.Rate < s.least {
			wrong = append(wrong, fmt.Errorf("%s: %d of %d trials failed", sum.Suite, sum.Failed, sum.Trials))
		}
		if s.passAt > 0 {
			wrong = append(wrong, sum.NeedsTrials(s.passAt))
		}
	}
	wrong = append(wrong, writeJUnit(s.junit, checksOf(lines)))
	if s.json {
		for _, l := range lines {
			wrong = append(wrong, json.NewEncoder(out).Encode(l))
		}
		return errors.Join(wrong...)
	}
	slices.SortFunc(all, func(a, b *results.Summary) int { return cmp.Compare(a.Suite, b.Suite) })
	wrong = append(wrong, results.Table(out, all))
	if s.against != "" {
		wrong = append(wrong, compare(out, all, s.against))
	}
	return errors.Join(wrong...)
}

// compare tells the differences of summaries from the results in a file.
func compare(out io.Writer, all []*results.Summary, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lines, err := results.Parse(data)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	lines, _ = results.Current(lines)
	of := map[string]*results.Summary{}
	for _, l := range results.BySuite(lines) {
		one, err := results.Summarize(l)
		if err != nil {
			return err
		}
		of[one.SuiteHash] = one
	}
	var same []*results.Summary
	for _, s := range all {
		if of[s.SuiteHash] != nil {
			same = append(same, s)
		}
	}
	if len(same) == 0 {
		return fmt.Errorf("%s has none of these suites in this version", file)
	}
	for _, s := range same {
		d, err := results.Compare(s, of[s.SuiteHash], len(same))
		if err != nil {
			return err
		}
		fmt.Fprintln(out, d)
	}
	return nil
}

// checksOf are trials as checks, for JUnit.
func checksOf(lines []*results.Line) (all []*check.Check) {
	outcomes := map[results.Outcome]check.Outcome{results.Pass: check.Pass, results.Fail: check.Fail, results.Void: check.Error}
	for _, l := range lines {
		all = append(all, &check.Check{
			Kind: "agent/" + l.Suite, Name: fmt.Sprintf("%s/%d", l.Task, l.Trial), Outcome: outcomes[l.Outcome],
			Seconds: l.Duration.Seconds(), Text: l.Reason,
		})
	}
	return all
}
