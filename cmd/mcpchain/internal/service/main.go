// Package service runs agents for many users over HTTP: one toolset, one store, and runs for each user
// that continue after a restart. From the top of a clone:
//
//	go run ./cmd/mcpchain serve -api
//
// docs/service.md is its guide.
package service

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/tokens"
	"github.com/mcpchain/mcpchain/internal/models"
)

// Main runs the program, and returns its exit status.
func Main(args []string) int {
	o, err := parse(args, os.Stdout)
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = o.run(ctx, o.Logger())
	}
	return cli.Status(err, os.Stderr)
}

const about = `
Runs agents for many users over HTTP. Runs and their questions are stored in a database: they
continue after a restart, and a question to a person may wait for days.

Without flags, one process has everything: SQLite, a demo model, demo servers, and two users with the
tokens demo-ada and demo-bob. With Postgres, any number of processes share the runs; with Temporal,
front ends serve HTTP and workers do the rest.`

const endpoints = `
POST /runs              begins a run: {"input": "…"}
GET /runs               lists the user's runs
GET /runs/ID            returns its state, with the open questions
GET /runs/ID/events     returns its events, as server-sent events
POST /runs/ID/answers   answers questions: [{"ask": "ID", "action": "allow"}]
DELETE /runs/ID         stops a run; with ?forget=true deletes an ended one
GET /healthz            checks the store; with ?detail returns the state of the servers`

const files = `
service.db
    runs, unless -store names another place
service-tools
    lists of the servers' tools
models.json
    names for -model`

const examples = `
mcpchain serve -api
curl -H 'Authorization: Bearer demo-ada' -d '{"input":"What is 17 plus 25?"}' localhost:8080/runs
    try it
mcpchain serve -api -listen :8080 -users users.txt -config mcp.json -store postgres://db/runs
    one of several machines`

// options are the settings of the flags.
type options struct {
	cli.Hosting
	store    string // SQLite file, or the URL of a Postgres database
	config   string // mcp.json; "": the demo servers
	timeouts cli.Timeouts
	model    *models.Flags

	temporal, namespace, queue string // address of Temporal, "" without it; where it finds the runs
	attributes                 bool   // set search attributes in Temporal
	role                       string // what this process does: both, front or worker

	lease time.Duration // after which others continue the runs of a killed process
	kept  time.Duration // how long ended runs are stored
	grace time.Duration // for tool calls when the process stops

	parallel, connections, memory  int     // for this process: active runs, connections, and bytes of events
	running, open, stored, streams int     // for each user: active, waiting and stored runs, and event streams
	rate                           float64 // requests of a user per minute
}

// The roles of a process.
const (
	both   = "both"
	front  = "front"  // serves HTTP
	worker = "worker" // drives runs
)

// Command returns the command line of the program.
func Command() *cli.Command {
	c, _ := declare()
	c.Main = Main
	return c
}

// declare returns the flags, and the variables that they set.
func declare() (*cli.Command, *options) {
	o := new(options)
	c := cli.New("serve -api", "serve agents to many users over HTTP")
	c.Synopsis, c.About = []string{"serve -api [flags]"}, about
	c.Bool("api", false, "") // selects the command
	o.model = c.ModelFlags(os.Getenv)
	c.ConfigFlag(&o.config, "demo servers")
	c.TimeoutFlags(&o.timeouts)
	c.HostingFlags(&o.Hosting)
	c.StoreFlag(&o.store, "runs", cli.StoreDatabase, "service.db")
	c.Group(cli.GroupStore, func(f *flag.FlagSet) {
		f.DurationVar(&o.kept, "keep", 30*24*time.Hour, "delete an ended run after this `time`")
		f.IntVar(&o.stored, "stored", 10_000, "maximum number of stored `runs` of a user")
	})
	c.Group("Several machines", func(f *flag.FlagSet) {
		f.StringVar(&o.temporal, "temporal", "", "`address` of Temporal, which then schedules the runs")
		f.StringVar(&o.namespace, "namespace", "default", "Temporal namespace, by `name`")
		f.StringVar(&o.queue, "queue", "mcpchain", "Temporal task `queue`")
		f.BoolVar(&o.attributes, "search-attributes", false, "set user and status of each run as search attributes in Temporal, and register these if necessary")
		f.StringVar(&o.role, "role", both, "role of this process with -temporal and Postgres, by `name`: front serves HTTP, worker works on runs, both does both")
		f.DurationVar(&o.lease, "lease", 15*time.Second, "`time` after which others continue the runs of a killed process")
		f.DurationVar(&o.grace, "grace", 10*time.Second, "`time` for tool calls under way when the process stops, at most 5m; with Temporal it is 20s")
	})
	c.Group(cli.GroupBounds, func(f *flag.FlagSet) {
		f.Float64Var(&o.rate, "rate", 600, "maximum number of `requests` of a user per minute, on average")
		f.IntVar(&o.running, "running", 4, "maximum number of active `runs` of a user: one more is refused, and a process works on no more at a time")
		f.IntVar(&o.open, "open", 100, "maximum number of `runs` that wait for their user, for each user")
		f.IntVar(&o.streams, "streams", 8, "maximum number of event `streams` of a user")
		f.IntVar(&o.parallel, "parallel", 128, "maximum number of active `runs` of this process")
		f.IntVar(&o.connections, "connections", 5000, "maximum number of `connections`")
		f.IntVar(&o.memory, "memory", 64<<20, "maximum number of `bytes` of events in memory; default 64 MiB")
	})
	c.Sections = []cli.Section{
		{Title: "Endpoints, for requests with Authorization: Bearer TOKEN", Text: endpoints}, cli.Files(files),
		cli.Environment("PGPASSWORD, PGPASSFILE\n    password of a Postgres database\n"), cli.Statuses(nil), {Title: "Examples", Text: examples},
	}
	return c, o
}

// parse parses the command line.
func parse(args []string, out io.Writer) (*options, error) {
	c, o := declare()
	if err := c.NoWords(args, out); err != nil {
		return nil, err
	}
	if err := cmp.Or(o.model.Complete(), o.Check(), o.check()); err != nil {
		return nil, c.Refuse(err)
	}
	return o, c.Positive("connect-timeout", "idle-timeout", "call-timeout", "lease", "keep", "rate", "parallel", "running", "open", "stored",
		"streams", "memory", "connections")
}

// maxGrace bounds -grace, because whoever stops the process waits for it.
const maxGrace = 5 * time.Minute

// check refuses flags that contradict each other, and sets the default of -store.
func (o *options) check() error {
	if o.role != both && o.role != front && o.role != worker {
		return fmt.Errorf("-role %q: want both, front or worker", o.role)
	}
	var missing []string
	if o.temporal == "" {
		missing = append(missing, "-temporal")
	}
	if !database.IsPostgres(o.store) {
		missing = append(missing, "a Postgres database in -store")
	}
	switch {
	case o.role != both && missing != nil:
		return fmt.Errorf("-role %s needs %s: without -role one process does all", o.role, strings.Join(missing, " and "))
	case o.attributes && o.temporal == "":
		return errors.New("-search-attributes needs -temporal")
	case o.grace < 0 || o.grace > maxGrace:
		return fmt.Errorf("-grace %v: want 0 to %v", o.grace, maxGrace)
	case o.Users == "" && o.role != worker && !o.IsLocal():
		return errors.New("everybody knows the tokens of the demo users: give -users, or -listen on a loopback address")
	}
	o.store = cmp.Or(o.store, cli.Place("service.db"))
	return nil
}

// run serves until the context ends.
func (o *options) run(ctx context.Context, logger *slog.Logger) error {
	var listener net.Listener // nil for a worker
	if o.role != worker {
		var err error
		if listener, err = hosting.Listen(o.Listen); err != nil {
			return err
		}
		defer func() { _ = listener.Close() }()
	}
	s, err := assemble(ctx, o, logger)
	if err != nil {
		return err
	}
	defer s.close()
	defer tokens.OnHangup(logger, s.reloadUsers)()
	if listener == nil {
		logger.Info("the worker drives runs", "temporal", o.temporal)
		return workError(s.work(ctx))
	}
	logger.Info("the service listens", "url", "http://"+listener.Addr().String(), "store", storeName(o.store))
	if o.Users == "" {
		attributes := []any{"tokens", slices.Sorted(maps.Keys(demo))}
		if o.config != "" && o.config != cli.NoServers {
			attributes = append(attributes, "they may call the servers of", o.config)
		}
		logger.Warn("the users are a demo: everybody knows their tokens", attributes...)
	}
	return s.serve(ctx, listener, o.connections)
}

// storeName describes the store without a password.
func storeName(place string) string {
	if database.IsPostgres(place) {
		return "Postgres"
	}
	return place
}

// workError returns the error of work that has ended, nil if its context has ended it.
func workError(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
