package service

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
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
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/usage"
	"github.com/mcpchain/mcpchain/hosttext"
)

// operating is what `mcpchain runs` was asked for.
type operating struct {
	options
	query   record.Query
	older   time.Duration
	command string
	args    []string
}

const aboutRuns = `Runs looks at the runs of a database, and changes them. It needs no model and no server.

	mcpchain runs list    [flags]             the runs, the newest first
	mcpchain runs show    USER/RUN            a run, as JSON
	mcpchain runs answer  USER/RUN ANSWER     answers a question: {"ask":"ID","action":"allow"}
	mcpchain runs cancel  USER/RUN            ends a run
	mcpchain runs revive  USER/RUN            has a parked run continue
	mcpchain runs delete  -older 720h [flags] deletes runs that are over
	mcpchain runs prune   -older 720h [flags] deletes what old conversations no longer need
	mcpchain runs verify  [flags]             reads runs as a whole, and says what is wrong
	mcpchain runs export  USER/RUN            writes a run to standard output
	mcpchain runs import                      reads one from standard input

Flags:
`

// operations has for each command of `mcpchain runs` how many arguments it takes.
func operations() map[string]int {
	return map[string]int{"list": 0, "show": 1, "answer": 2, "cancel": 1, "revive": 1, "delete": 0, "prune": 0, "verify": 0, "export": 1, "import": 0}
}

// Operations lists the commands of `mcpchain runs`.
func Operations() []string { return slices.Sorted(maps.Keys(operations())) }

// parseRuns reads the command line behind `mcpchain runs`.
func parseRuns(args []string, out io.Writer) (*operating, error) {
	o := new(operating)
	f := flag.NewFlagSet("mcpchain runs", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.sqlite, "sqlite", "", "`file` of runs (default service.db in the user's folder of settings)")
	f.StringVar(&o.postgres, "postgres", "", "`URL` of a Postgres database instead; PGPASSWORD or PGPASSFILE has its password")
	f.StringVar(&o.query.Tenant, "user", "", "runs of this `user` alone (default all)")
	f.Func("status", "running, waiting, done, failed or cancelled (default any)", func(s string) error {
		o.query.Status = run.Status(s)
		return nil
	})
	f.DurationVar(&o.older, "older", 0, "runs whose last change was so long ago")
	f.IntVar(&o.query.Limit, "limit", 0, "so many runs at most (default all)")
	help := func() {
		fmt.Fprint(out, aboutRuns, usage.Flags(f))
	}
	if len(args) == 0 || args[0] == "-h" || args[0] == "-help" || args[0] == "--help" || args[0] == "help" {
		help()
		return nil, flag.ErrHelp
	}
	o.command = args[0]
	var err error
	for rest := args[1:]; ; rest = f.Args()[1:] { // flags may stand behind the names
		if err = f.Parse(rest); err != nil || f.NArg() == 0 {
			break
		}
		o.args = append(o.args, f.Arg(0))
	}
	if errors.Is(err, flag.ErrHelp) {
		help()
	}
	if err != nil {
		return nil, err
	}
	o.query.AllTenants = o.query.Tenant == ""
	if o.older > 0 {
		o.query.Before = time.Now().Add(-o.older)
	}
	want, ok := operations()[o.command]
	if err := o.place(); err != nil {
		return nil, err
	}
	switch {
	case !ok:
		return nil, fmt.Errorf("there is no command %q", o.command)
	case len(o.args) != want:
		return nil, fmt.Errorf("%s takes %d arguments, and got %d", o.command, want, len(o.args))
	case (o.command == "delete" || o.command == "prune") && o.older <= 0:
		return nil, fmt.Errorf("%s needs -older, such as -older 720h", o.command)
	}
	return o, nil
}

// operate is `mcpchain runs`. Its status is 0, 1 after an error, 2 for a wrong command line, and 3 if verify has found something.
func operate(args []string, in io.Reader, out io.Writer) (status int) {
	o, err := parseRuns(args, out)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		log.Print("mcpchain: ", &usage.Error{Command: "runs", Reason: err.Error()})
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	found, err := o.do(ctx, in, out)
	switch {
	case err != nil:
		log.Print("mcpchain: ", err)
		return 1
	case found:
		return 3
	}
	return 0
}

// do does what was asked for. found reports what a check has found.
func (o *operating) do(ctx context.Context, in io.Reader, out io.Writer) (found bool, err error) {
	s := new(service)
	defer s.close()
	store, err := s.openStore(ctx, &o.options)
	if err != nil {
		return false, err
	}
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

// nameOf writes a key as the command line takes it.
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
	state, err := record.Fold(log.Records)
	if err != nil {
		return err
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(state)
}
