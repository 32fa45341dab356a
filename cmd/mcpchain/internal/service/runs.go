package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
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
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// operating is the command line of `mcpchain runs`.
type operating struct {
	store   string
	query   record.Query
	older   time.Duration
	command string
	args    []string
}

const aboutRuns = `
Looks at the runs of a database, and changes them. It needs no model and no server, and a service
that uses the database does not have to be stopped.

list                     the runs, the newest first
show USER/RUN            a run, as JSON
answer USER/RUN ANSWER   answers a question: {"ask":"ID","action":"allow"}
cancel USER/RUN          ends a run
revive USER/RUN          has a parked run continue
delete -older 720h       deletes runs that are over
prune -older 720h        deletes what old conversations no longer need
verify                   reads runs as a whole, and says what is wrong
export USER/RUN          writes a run to standard output
import                   reads one from standard input`

const runsExamples = `
mcpchain runs list -status waiting -older 24h
mcpchain runs answer ada/run_… '{"ask":"…","action":"deny"}' -store runs.db`

// operations maps the commands of `mcpchain runs` to their numbers of arguments.
func operations() map[string]int {
	return map[string]int{"list": 0, "show": 1, "answer": 2, "cancel": 1, "revive": 1, "delete": 0, "prune": 0, "verify": 0, "export": 1, "import": 0}
}

// RunsCommand returns the command line of `mcpchain runs`.
func RunsCommand() *cli.Command {
	c, _ := declareRuns()
	c.Main = func(args []string) int { return operate(args, os.Stdin, os.Stdout) }
	return c
}

// declareRuns returns the flags, and the variables that they set.
func declareRuns() (*cli.Command, *operating) {
	o := new(operating)
	c := cli.New("runs", "list, show, answer, cancel and check the runs of a service")
	c.Synopsis, c.About, c.Words = []string{"runs COMMAND [flags]"}, aboutRuns, slices.Sorted(maps.Keys(operations()))
	c.Group("Which runs", func(f *flag.FlagSet) {
		f.StringVar(&o.query.Tenant, "user", "", "runs of this `user` alone; default all")
		f.Func("status", "runs with this `status`: running, waiting, done, failed or cancelled; default any", func(s string) error {
			statuses := []run.Status{"", run.StatusRunning, run.StatusWaiting, run.StatusFinished, run.StatusFailed, run.StatusCancelled}
			if o.query.Status = run.Status(s); !slices.Contains(statuses, o.query.Status) {
				return errors.New("want running, waiting, done, failed or cancelled")
			}
			return nil
		})
		f.DurationVar(&o.older, "older", 0, "runs whose last change was this `time` ago, or longer")
		f.IntVar(&o.query.Limit, "limit", 0, "a `number` of runs at most; default all")
	})
	c.Store(&o.store, "runs", cli.StoreAny, "service.db")
	c.Sections = []cli.Section{
		cli.Files("service.db\n    runs, unless -store names another place"),
		{Title: "Environment", Text: "PGPASSWORD, PGPASSFILE\n    password of a Postgres database"},
		cli.Statuses(map[int]string{statusFound: "verify has found something wrong"}), {Title: "Examples", Text: runsExamples},
	}
	return c, o
}

// parseRuns parses the command line after `mcpchain runs`.
func parseRuns(args []string, out io.Writer) (*operating, error) {
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
	o.command, o.args = words[0], words[1:]
	o.query.AllTenants = o.query.Tenant == ""
	if o.older > 0 {
		o.query.Before = time.Now().Add(-o.older)
	}
	o.store = cmp.Or(o.store, cli.Place("service.db"))
	want, ok := operations()[o.command]
	switch {
	case !ok:
		return nil, c.Wrong("there is no command %q", o.command)
	case len(o.args) != want:
		return nil, c.Wrong("%s takes %d arguments, and got %d", o.command, want, len(o.args))
	case o.older < 0:
		return nil, c.Wrong("-older has to be above 0")
	case (o.command == "delete" || o.command == "prune") && o.older <= 0:
		return nil, c.Wrong("%s needs -older, such as -older 720h", o.command)
	case o.command != "import" && isMissing(o.store):
		return nil, c.Wrong("-store: there is no %s", o.store)
	}
	return o, nil
}

// isMissing reports whether a store is a file or folder that does not exist.
func isMissing(place string) bool {
	if place == "" || database.IsPostgres(place) || strings.Contains(place, "://") {
		return false
	}
	_, err := os.Stat(place)
	return errors.Is(err, os.ErrNotExist)
}

// statusFound is the exit status of verify if something is wrong.
const statusFound = 3

// operate implements `mcpchain runs`. Its status is 0, 1 after an error, 2 for a wrong command
// line, and 3 if verify has found something.
func operate(args []string, in io.Reader, out io.Writer) (status int) {
	o, err := parseRuns(args, out)
	found := false
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		found, err = o.do(ctx, in, out)
	}
	if err == nil && found {
		return statusFound
	}
	return cli.Status(err, os.Stderr)
}

// do runs the command. found reports whether verify has found something.
func (o *operating) do(ctx context.Context, in io.Reader, out io.Writer) (found bool, err error) {
	store, closeStore, err := database.OpenStore(ctx, o.store)
	if err != nil {
		return false, err
	}
	defer func() { _ = closeStore() }()
	if o.command == "list" {
		return false, list(ctx, store, o.query, out)
	}
	if o.command == "verify" {
		for key, err := range record.Verify(ctx, store, o.query) {
			if key.ID == "" {
				return found, err
			}
			found = true
			fmt.Fprintf(out, "%s: %s\n", nameOf(key), hosttext.Line(err.Error(), 500))
		}
		return found, nil
	}
	var key run.Key
	if len(o.args) > 0 {
		var ok bool
		if key.Tenant, key.ID, ok = strings.Cut(o.args[0], "/"); !ok {
			return false, fmt.Errorf("%q does not name a run: want USER/RUN", o.args[0])
		}
	}
	switch o.command {
	case "show":
		return false, show(ctx, store, key, out)
	case "answer":
		var a run.Reply
		if err := json.Unmarshal([]byte(o.args[1]), &a); err != nil {
			return false, fmt.Errorf("the answer: %w", err)
		}
		a.By = "operator"
		return false, record.Submit(ctx, store, key, a)
	case "cancel":
		ctx, cancel := context.WithTimeout(ctx, stopWait)
		defer cancel()
		return false, record.CancelRun(ctx, store, key)
	case "revive":
		return false, record.Revive(ctx, store, key)
	case "export":
		return false, record.Export(ctx, store, key, out)
	case "import":
		key, err = record.Import(ctx, store, in)
		if err == nil {
			fmt.Fprintln(out, nameOf(key))
		}
		return false, err
	}
	if o.command == "prune" {
		n, err := record.Prune(ctx, store, o.query)
		fmt.Fprintf(out, "%d runs pruned\n", n)
		return false, err
	}
	n, err := record.DeleteEnded(ctx, store, o.query)
	fmt.Fprintf(out, "%d runs deleted\n", n)
	return false, err
}

// nameOf returns a key as the command line accepts it.
func nameOf(key run.Key) string { return hosttext.Line(key.Tenant+"/"+key.ID, 200) }

// list writes a line for each run.
func list(ctx context.Context, store record.Store, q record.Query, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTATUS\tQUESTIONS\tTAKEOVERS\tHELD\tLAST CHANGE")
	for head, err := range store.List(ctx, q) {
		if damaged, ok := errors.AsType[*record.DamagedError](err); ok {
			fmt.Fprintf(w, "%s\tdamaged: %s\n", nameOf(damaged.Key), hosttext.Line(damaged.Err.Error(), 200))
			continue
		}
		if err != nil {
			return err
		}
		held := "-"
		if head.HeldAt(time.Now()) {
			held = "yes"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\n", nameOf(head.Key), head.Status, len(head.Questions)-head.Replies, head.Takeovers, held, head.Updated.UTC().Format(time.RFC3339))
	}
	return w.Flush()
}

// show writes the state of a run.
func show(ctx context.Context, store record.Store, key run.Key, out io.Writer) error {
	log, err := record.LoadCurrent(ctx, store, key)
	if err != nil {
		return err
	}
	state, err := ledger.StateOf(log.Records)
	if err != nil {
		return err
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(state)
}
