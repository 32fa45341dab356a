package eval

import (
	"cmp"
	"flag"
	"io"
	"regexp"
	"runtime"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	agenteval "github.com/mcpchain/mcpchain/evals/agent"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/internal/models"
)

const about = `
An agent performs the tasks of suites, and the results are checked: the answer, the state of the
servers, the effects of calls. A suite is a YAML or JSON file; docs/evals.md describes it. Each trial
has its own servers, in its own folder. A suite that names no servers uses those of -config, or the
demo server.

Without -model the demo model answers. With -scripted, the replies of a model are part of the tasks:
this tests servers and checks, and needs no model. -record records what a model and the servers say,
and -play plays it back.

The table has the tasks and trials of each suite, how many passed, failed, or are void because they
say nothing about the agent, the rate as a mean over tasks with its 95 % interval, tokens and costs.`

const examples = `
mcpchain eval -scripted todo.yaml
    try servers and checks without a model
mcpchain eval -base-url http://localhost:11434/v1 -model qwen3 -trials 4 -least 0.8 -junit out.xml todo.yaml
    four trials of each task with your own model, for CI
mcpchain eval -model gpt-5 -record tapes todo.yaml && mcpchain eval -play tapes -play-servers todo.yaml
    record a model and its servers, and play both`

// options are the settings of the command line.
type options struct {
	agenteval.Options
	model    *models.Flags
	config   string // file of servers for suites without any; "": the demo server
	scripted bool
	play     string // folder of recordings to play; "": none
	record   string // folder for recordings; "": none

	files   []string       // files with suites
	run     *regexp.Regexp // matches the tasks to run
	list    bool           // only lists them
	json    bool           // an object for each trial instead of the table
	results string         // file of results; "": a temporary one
	junit   string         // file for JUnit XML; "": none
	least   float64        // rate of a suite, 0 to 1
}

// Command returns the command eval.
func Command() *cli.Command {
	c, _ := declare(func(string) string { return "" })
	c.Main = Main
	return c
}

// declare returns the command, and the options that its flags set.
func declare(getenv func(string) string) (*cli.Command, *options) {
	o := &options{run: regexp.MustCompile("")}
	c := cli.New("eval", "let an agent perform tasks, and check the results")
	c.Synopsis, c.About = []string{"eval [flags] SUITE.yaml ..."}, about
	c.Group("Tasks", func(set *flag.FlagSet) {
		set.Func("run", "run only the tasks whose suite/id matches this `regexp`", func(text string) (err error) {
			o.run, err = regexp.Compile(text)
			return err
		})
		set.BoolVar(&o.list, "list", false, "list the tasks, without running them")
		set.IntVar(&o.Trials, "trials", 1, "`number` of trials of each task")
		set.IntVar(&o.Parallel, "workers", 0, "maximum `number` of parallel trials; default: twice the number of processors")
		set.DurationVar(&o.Patience, "patience", 0, "minimum `time` limit of a trial, for slow machines; default: the task's, or else 1m, or 10m with a model")
		set.BoolVar(&o.Keep, "keep-folders", false, "keep the folders of trials, and print their paths")
	})
	o.model = c.ModelFlags(getenv)
	c.Group(cli.GroupModel, func(set *flag.FlagSet) {
		set.BoolVar(&o.scripted, "scripted", false, "use the replies in the tasks instead of a model")
		set.StringVar(&o.record, "record", "", "record what the model and the servers say in this `folder`")
		set.StringVar(&o.play, "play", "", "play the model's replies from this `folder` of -record")
		set.BoolVar(&o.Model.Servers, "play-servers", false, "play the servers' answers as well, without starting servers")
	})
	c.ConfigFlag(&o.config, "the demo server; used by suites that name no servers")
	c.Group("Results", func(set *flag.FlagSet) {
		set.StringVar(&o.results, "results", "", "store the results in this `file` of JSON lines, and skip trials that are in it")
		set.BoolVar(&o.json, "json", false, "print a JSON object for each trial instead of the table")
		set.StringVar(&o.junit, "junit", "", "write the results to this `file` as JUnit XML")
		set.Float64Var(&o.least, "least", 1, "fail if the `rate` of a suite is below this; default 1")
	})
	c.Sections = []cli.Section{
		cli.Environment(""),
		cli.Statuses(map[int]string{
			cli.StatusFine:   "each suite reaches -least",
			cli.StatusFailed: "a suite does not, or more than 5 % of its trials are void",
		}),
		{Title: "Examples", Text: examples},
	}
	return c, o
}

// parse reads the command line.
func parse(args []string, getenv func(string) string, out io.Writer) (o *options, err error) {
	c, o := declare(getenv)
	if o.files, err = c.Arguments(args, out); err != nil {
		return nil, err
	}
	o.Tasks = func(suite, task string) bool { return o.run.MatchString(suite + "/" + task) }
	o.Parallel = cmp.Or(o.Parallel, 2*runtime.GOMAXPROCS(0))
	asksModel := o.record != "" || c.Given("model")
	switch {
	case len(o.files) == 0:
		return nil, c.Wrong("name a suite")
	case o.scripted && (o.play != "" || asksModel), o.play != "" && asksModel:
		return nil, c.Wrong("give one of -model, -scripted and -play; -record goes with -model")
	case o.Model.Servers && o.play == "":
		return nil, c.Wrong("-play-servers goes with -play")
	case o.Parallel < 0:
		return nil, c.Wrong("-workers is below 0")
	case o.Patience < 0:
		return nil, c.Wrong("-patience is below 0")
	case o.least < 0 || o.least > 1:
		return nil, c.Wrong("-least %v: want 0 to 1", o.least)
	}
	if err := c.Positive("trials"); err != nil {
		return nil, err
	}
	o.Model.Record = o.record != ""
	o.Model.Cassette = o.play + o.record
	switch {
	case o.scripted:
		o.Model.Mode = results.Scripted
	case o.play != "":
		o.Model.Mode = results.Recorded
	default:
		o.Model.Mode = results.Live
		if err := o.model.Complete(); err != nil {
			return nil, c.Refuse(err)
		}
	}
	return o, nil
}

// discovery bounds the requests for the properties of a model.
const discovery = 10 * time.Second
