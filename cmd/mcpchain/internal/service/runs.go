package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/spelling"
)

// operator has the settings of `mcpchain runs`, and runs its commands.
type operator struct {
	place string        // the value of -store
	query record.Query  // selects runs
	older time.Duration // minimum time since the last change; 0: any

	operation operation
	name      string    // the first argument of the operation: USER/RUN
	reply     run.Reply // its second argument
	key       run.Key   // of the run with that name

	store record.Store
	in    io.Reader
	out   io.Writer
}

// operation is a command of `mcpchain runs`.
type operation struct {
	name      string
	arguments string // as the help shows them; the first one names a run
	run       func(*operator, context.Context) error
}

// selects reports whether the command is for the runs that the flags select.
func (o operation) selects() bool { return o.arguments == "" && o.name != "import" }

// operations lists the commands.
func operations() []operation {
	return []operation{
		{"answer", "USER/RUN ANSWER", (*operator).answer},
		{"cancel", "USER/RUN", (*operator).cancel},
		{"delete", "", (*operator).delete},
		{"export", "USER/RUN", (*operator).export},
		{"import", "", (*operator).importRun},
		{"list", "", (*operator).list},
		{"prune", "", (*operator).prune},
		{"revive", "USER/RUN", (*operator).revive},
		{"show", "USER/RUN", (*operator).show},
		{"verify", "", (*operator).verify},
	}
}

const aboutRuns = `
Inspects and maintains the runs of a database. It needs no model and no server, and a service that uses
the database need not be stopped.

list                     lists the runs, the newest first
show USER/RUN            writes a run as JSON
answer USER/RUN ANSWER   answers a question: {"ask":"ID","action":"allow"}
cancel USER/RUN          ends a run
revive USER/RUN          makes a run that failed continue
delete -older 720h       deletes ended runs
prune -older 720h        deletes records that old conversations no longer need
verify                   checks all records of runs, and reports defects
export USER/RUN          writes a run to standard output, for import
import                   reads an exported run from standard input`

const runsExamples = `
mcpchain runs list -status waiting -older 24h
mcpchain runs answer ada/run_… '{"ask":"…","action":"deny"}' -store runs.db`

// RunsCommand returns the command line of `mcpchain runs`.
func RunsCommand() *cli.Command {
	c, _ := declareRuns()
	c.Main = func(args []string) int { return operate(args, os.Stdin, os.Stdout) }
	return c
}

// declareRuns returns the flags, and the variables that they set.
func declareRuns() (*cli.Command, *operator) {
	o := new(operator)
	c := cli.New("runs", "list, show, answer, cancel and check stored runs")
	c.Synopsis, c.About = []string{"runs COMMAND [flags]"}, aboutRuns
	for _, operation := range operations() {
		c.Words = append(c.Words, operation.name)
	}
	c.Group("Selection", func(f *flag.FlagSet) {
		f.StringVar(&o.query.Tenant, "user", "", "only runs of this `user`; default: all")
		f.Func("status", "only runs with this `status`: running, waiting, done, failed or cancelled; default: any", func(s string) error {
			statuses := []run.Status{"", run.StatusRunning, run.StatusWaiting, run.StatusFinished, run.StatusFailed, run.StatusCancelled}
			if o.query.Status = run.Status(s); !slices.Contains(statuses, o.query.Status) {
				return errors.New("want running, waiting, done, failed or cancelled")
			}
			return nil
		})
		f.DurationVar(&o.older, "older", 0, "only runs whose last change was at least this `time` ago")
		f.IntVar(&o.query.Limit, "limit", 0, "maximum `number` of runs; 0: all")
	})
	c.StoreFlag(&o.place, "runs", cli.StoreAny, "service.db")
	c.Sections = []cli.Section{
		cli.Files("service.db\n    runs, unless -store names another place"),
		{Title: "Environment", Text: "PGPASSWORD, PGPASSFILE\n    password of a Postgres database"},
		cli.Statuses(map[int]string{statusDefects: "verify has found defects"}), {Title: "Examples", Text: runsExamples},
	}
	return c, o
}

// parseRuns parses the command line after `mcpchain runs`.
func parseRuns(args []string, out io.Writer) (*operator, error) {
	c, o := declareRuns()
	if len(args) == 0 || args[0] == "help" {
		args = []string{"-help"}
	}
	words, err := c.Arguments(args, out)
	if err != nil {
		return nil, err
	}
	if len(words) == 0 {
		return nil, c.Wrong("want a command, such as list")
	}
	index := slices.IndexFunc(operations(), func(candidate operation) bool { return candidate.name == words[0] })
	if index < 0 {
		return nil, c.Wrong("there is no command %q%s", words[0], spelling.Hint(words[0], c.Words))
	}
	o.operation = operations()[index]
	for _, name := range []string{"user", "status", "older", "limit"} {
		ofOne := name == "user" && o.operation.arguments != "" // whose run it is
		if c.Given(name) && !o.operation.selects() && !ofOne {
			return nil, c.Wrong("-%s selects runs, and is not for %s", name, o.operation.name)
		}
	}
	if err := cmp.Or(o.readArguments(words[1:]), o.complete()); err != nil {
		return nil, c.Wrong("%v", err)
	}
	return o, nil
}

// readArguments parses the arguments of the command.
func (o *operator) readArguments(args []string) error {
	if len(args) != len(strings.Fields(o.operation.arguments)) {
		return errors.New(strings.TrimSpace("want: mcpchain runs " + o.operation.name + " " + o.operation.arguments))
	}
	if len(args) > 0 {
		if o.name = args[0]; !strings.Contains(o.name, "/") {
			return fmt.Errorf("%q does not name a run: want USER/RUN", o.name)
		}
	}
	if len(args) > 1 {
		if err := json.Unmarshal([]byte(args[1]), &o.reply); err != nil {
			return fmt.Errorf(`the answer: %w: want {"ask":"ID","action":"allow"}`, err)
		}
	}
	return nil
}

// complete refuses flags that do not fit the command, and sets defaults.
func (o *operator) complete() error {
	o.place = cmp.Or(o.place, cli.Place("service.db"))
	o.query.AllTenants = o.query.Tenant == ""
	if o.older > 0 {
		o.query.ChangedBefore = time.Now().Add(-o.older)
	}
	switch name, status := o.operation.name, o.query.Status; {
	case o.older < 0:
		return errors.New("-older is below 0")
	case o.query.Limit < 0:
		return errors.New("-limit is below 0")
	case (name == "delete" || name == "prune") && o.older == 0:
		return fmt.Errorf("%s needs an -older above 0, such as -older 720h", name)
	case name == "delete" && status != "" && !status.Ended():
		return fmt.Errorf("delete is for runs that are over, not for those that are %s", status)
	}
	return nil
}

// statusDefects is the exit status of verify if there are defects.
const statusDefects = 3

// errDefects means that verify has found defects.
var errDefects = errors.New("there are defects")

// operate implements `mcpchain runs`, and returns its exit status.
func operate(args []string, in io.Reader, out io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parseRuns(args, out)
	if err == nil {
		o.in, o.out = in, out
		err = o.execute(ctx)
	}
	if errors.Is(err, errDefects) { // the findings are on standard output
		return statusDefects
	}
	return cli.Status(err, os.Stderr)
}

// execute opens the store, and runs the command. Only import may create the store.
func (o *operator) execute(ctx context.Context) error {
	if o.operation.name != "import" {
		if err := database.Check(ctx, o.place); err != nil {
			return err
		}
	}
	store, closeStore, err := database.OpenStore(ctx, o.place)
	if err != nil {
		return err
	}
	o.store = store
	if o.key, err = o.find(ctx); err == nil {
		err = o.operation.run(o, ctx)
	}
	return errors.Join(err, closeStore())
}

// find returns the key of the stored run with the name. A user or a run may have slashes: -user says which part is the user,
// and without it a name of several runs is an error. The operation reports that there is none.
func (o *operator) find(ctx context.Context) (key run.Key, err error) {
	stored := 0
	for at, c := range o.name {
		if c != '/' || o.query.Tenant != "" && o.name[:at] != o.query.Tenant {
			continue
		}
		named := run.Key{Tenant: o.name[:at], ID: o.name[at+1:]}
		if head, _ := database.Head(ctx, o.store, named); head.Key == named { // also a damaged one
			stored++
			key = named
		} else if stored == 0 {
			key = named
		}
	}
	switch {
	case stored > 1:
		return key, fmt.Errorf("%s is the name of %d runs: give the user with -user", hosttext.Line(o.name, 200), stored)
	case o.name != "" && key == run.Key{}:
		return key, fmt.Errorf("%s does not begin with the user of -user", hosttext.Line(o.name, 200))
	}
	return key, nil
}

// nameOf returns a key as the command line accepts it, unless it is longer than 200 characters or has invisible ones.
func nameOf(key run.Key) string { return hosttext.Line(key.Tenant+"/"+key.ID, 200) }

// list writes a line for each run, also for a damaged one. If the list fails, the runs so far are written.
func (o *operator) list(ctx context.Context) (err error) {
	w := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', 0)
	defer func() { err = errors.Join(err, w.Flush()) }()
	fmt.Fprintln(w, "RUN\tSTATUS\tQUESTIONS\tTAKEOVERS\tHELD\tLAST CHANGE")
	for head, err := range o.store.List(ctx, o.query) {
		if errors.Is(err, record.ErrDamaged) {
			fmt.Fprintf(w, "%s\tdamaged: %s\n", nameOf(head.Key), hosttext.Line(err.Error(), 200))
			continue
		}
		if err != nil {
			return err
		}
		held := "-"
		if head.HeldAt(time.Now()) {
			held = "yes"
		}
		questions := len(head.QuestionIDs) - head.ReplyCount
		changed := head.Updated.UTC().Format(time.RFC3339)
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\n", nameOf(head.Key), head.Status, questions, head.Takeovers, held, changed)
	}
	return nil
}

// show writes the state of a run as JSON.
func (o *operator) show(ctx context.Context) error {
	state, err := database.LoadState(ctx, o.store, o.key)
	if err != nil {
		return err
	}
	return cli.WriteJSON(o.out, state, "  ")
}

// answer stores an answer to an open question.
func (o *operator) answer(ctx context.Context) error {
	o.reply.By = "operator"
	return o.report("answered", record.Submit(ctx, o.store, o.key, o.reply))
}

// cancel ends a run, and waits at most requestWait for its end.
func (o *operator) cancel(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestWait)
	defer cancel()
	return o.report("cancelled", record.CancelRun(ctx, o.store, o.key))
}

// revive makes a run that failed due.
func (o *operator) revive(ctx context.Context) error {
	return o.report("revived", record.Revive(ctx, o.store, o.key))
}

// report writes what was done to the run, unless there is an error.
func (o *operator) report(done string, err error) error {
	if err == nil {
		fmt.Fprintln(o.out, done, nameOf(o.key))
	}
	return err
}

// export writes the records of a run.
func (o *operator) export(ctx context.Context) error {
	return record.Export(ctx, o.store, o.key, o.out)
}

// importRun stores an exported run, and writes its name.
func (o *operator) importRun(ctx context.Context) error {
	key, err := record.Import(ctx, o.store, o.in)
	switch {
	case errors.Is(err, record.ErrExists):
		return fmt.Errorf("%w; -store names another store", err)
	case err == nil:
		fmt.Fprintln(o.out, nameOf(key))
	}
	return err
}

// verify writes the defects of runs, and the numbers of runs and defects. Its error is errDefects if there are defects.
func (o *operator) verify(ctx context.Context) error {
	runs, defects := 0, 0
	for _, err := range o.store.List(ctx, o.query) {
		if err != nil && !errors.Is(err, record.ErrDamaged) {
			return err
		}
		runs++
	}
	for key, err := range record.Verify(ctx, o.store, o.query) {
		if key.ID == "" {
			return err
		}
		defects++
		fmt.Fprintf(o.out, "%s: %s\n", nameOf(key), hosttext.Line(err.Error(), 500))
	}
	fmt.Fprintf(o.out, "%s, %s\n", cli.Plural(runs, "run"), cli.Plural(defects, "defect"))
	if defects > 0 {
		return errDefects
	}
	return nil
}

// delete deletes runs that have ended.
func (o *operator) delete(ctx context.Context) error {
	return o.change(ctx, record.DeleteEnded, "deleted")
}

// prune deletes records that old conversations no longer need.
func (o *operator) prune(ctx context.Context) error { return o.change(ctx, record.Prune, "pruned") }

// change calls a function of package record, and writes how many runs it has changed, also if it fails.
func (o *operator) change(ctx context.Context, f func(context.Context, record.Store, record.Query) (int, error), what string) error {
	n, err := f(ctx, o.store, o.query)
	fmt.Fprintln(o.out, cli.Plural(n, "run"), what)
	return err
}
