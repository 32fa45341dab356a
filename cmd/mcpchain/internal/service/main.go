// Package service runs agents for many users over HTTP: one toolset, one store, and for each user runs of
// their own, which go on after a restart. From the top of a clone:
//
//	go run ./cmd/mcpchain serve -api
//
// Without further settings everything is in one process, with SQLite, a demo model, a demo server
// and two demo users. The address and the tokens are printed:
//
//	curl -H 'Authorization: Bearer demo-ada' -d '{"input":"What is 17 plus 25?"}' localhost:8080/runs
//	curl -H 'Authorization: Bearer demo-ada' localhost:8080/runs/ID
//	curl -N -H 'Authorization: Bearer demo-ada' localhost:8080/runs/ID/events
//	curl -H 'Authorization: Bearer demo-ada' -d '[{"ask":"…","action":"allow"}]' localhost:8080/runs/ID/answers
//	curl -X DELETE -H 'Authorization: Bearer demo-ada' localhost:8080/runs/ID
//
// A POST of a run with an Idempotency-Key may be sent again: it begins one run. DELETE of a run that is over
// deletes what is kept of it if the query says forget=true.
//
// -postgres and -temporal spread it over machines, see docs/scaling.md. OPENAI_API_KEY, OPENAI_MODEL
// and OPENAI_BASE_URL choose a model, -servers a file of MCP servers, -users who may call.
package service

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/agent/temporal"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/bounded"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/tokens"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/usage"
	"github.com/mcpchain/mcpchain/internal/models"
)

// Runs looks at the runs of a store and changes them. It returns its exit status.
func Runs(args []string) int {
	log.SetFlags(0)
	return operate(args, os.Stdin, os.Stdout)
}

// Main runs the program, and returns its exit status.
func Main(args []string) int {
	log.SetFlags(0)
	o, err := parse(args, os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		log.Print("mcpchain: ", &usage.Error{Command: "serve -api", Reason: err.Error()})
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
		log.Print("mcpchain: ", err)
		return 1
	}
	return 0
}

// about is what -help says before and after the flags.
const (
	about = `Serve -api runs agents for many users over HTTP. Runs and their questions stay in a database.

	mcpchain serve -api [flags]

Flags:
`
	further = `
Environment:
  OPENAI_MODEL, OPENAI_BASE_URL
        -model and -base-url, if these are not given
  OPENAI_API_KEY, ANTHROPIC_API_KEY
        key of the model's host; the latter with -model-api messages
  PGPASSWORD, PGPASSFILE
        password of -postgres

Endpoints: POST and GET /runs, GET and DELETE /runs/ID, GET /runs/ID/events, POST /runs/ID/answers, GET /healthz.
The guide: https://github.com/mcpchain/mcpchain/blob/main/docs/service.md
`
)

// options are the flags.
type options struct {
	listen, sqlite, postgres    string
	temporal, namespace, queue  string
	attributes                  bool
	role                        string
	users, servers              string
	model                       *models.Flags
	proxies                     bounded.Addresses
	parallel, processes         int
	lease, kept, grace          time.Duration
	running, open, streams, max int
	stored, memory              int
	rate                        float64
}

// dialect says which database has the runs.
func (o *options) dialect() sqlstore.Dialect {
	if o.postgres == "" {
		return sqlstore.DialectSQLite
	}
	return sqlstore.DialectPostgres
}

// The roles of a process.
const (
	both   = "both"
	front  = "front"  // serves HTTP
	worker = "worker" // drives runs
)

func parse(args []string, out io.Writer) (*options, error) {
	f := flag.NewFlagSet("serve -api", flag.ContinueOnError)
	f.SetOutput(io.Discard) // main says what is wrong
	f.Usage = func() {}
	o := new(options)
	f.StringVar(&o.listen, "listen", "127.0.0.1:8080", "`address` of the HTTP service")
	f.StringVar(&o.sqlite, "sqlite", "", "`file` of runs (default service.db in the user's folder of settings)")
	f.StringVar(&o.postgres, "postgres", "", "`URL` of a Postgres database, instead of SQLite; PGPASSWORD or PGPASSFILE has its password")
	f.StringVar(&o.temporal, "temporal", "", "`address` of Temporal, which then drives the runs")
	f.StringVar(&o.namespace, "namespace", "default", "of Temporal")
	f.StringVar(&o.queue, "queue", temporal.DefaultQueue, "task `queue` of Temporal")
	f.BoolVar(&o.attributes, "search-attributes", false, "give Temporal the user and the status of each run; they are registered if they are not")
	f.StringVar(&o.role, "role", both, "with -temporal and -postgres: front serves HTTP, worker drives runs, `both` does both")
	f.StringVar(&o.users, "users", "", "`file` with a user and a token on each line (default two demo users)")
	f.Func("trusted-proxy", "`addresses` of proxies, or ranges such as 10.0.0.0/8, separated by commas: they may have more than an eighth of all connections", func(text string) (err error) {
		o.proxies, err = bounded.Parse(text)
		return err
	})
	f.StringVar(&o.servers, "servers", "", "`file` of MCP servers, such as mcp.json (default a demo server)")
	o.model = models.Declare(f, os.Getenv)
	f.IntVar(&o.processes, "processes", 10, "processes of each server over standard input and output, each for one user at a time; 0: one for all users")
	f.IntVar(&o.parallel, "parallel", 128, "runs that this process drives at the same time")
	f.DurationVar(&o.lease, "lease", 15*time.Second, "how long a killed process keeps others from its runs")
	f.DurationVar(&o.grace, "grace", 10*time.Second, "how long tool calls under way may take to end when the process stops, 5m at most; at Temporal it is 20s")
	f.IntVar(&o.running, "running", 4, "runs of a user that go on at the same time, in each process")
	f.IntVar(&o.open, "open", 100, "runs of a user that wait for the user")
	f.IntVar(&o.stored, "stored", 10_000, "runs of a user that are kept")
	f.DurationVar(&o.kept, "keep", 30*24*time.Hour, "how long a run is kept that is over")
	f.IntVar(&o.streams, "streams", 8, "event streams of a user at the same time")
	f.IntVar(&o.memory, "memory", 64<<20, "`bytes` of events in memory")
	f.IntVar(&o.max, "connections", 5000, "connections at the same time")
	f.Float64Var(&o.rate, "rate", 10, "requests of a user in a second, on average")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(out, about, usage.Flags(f), further)
		return nil, err
	} else if err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if err := o.model.Complete(); err != nil {
		return nil, err
	}
	return o, o.check()
}

// maxGrace bounds -grace: who stops a process waits for it.
const maxGrace = 5 * time.Minute

// check refuses flags that do not go together.
func (o *options) check() error {
	if o.role != both && o.role != front && o.role != worker {
		return fmt.Errorf("-role %q: want both, front or worker", o.role)
	}
	var missing []string
	if o.temporal == "" {
		missing = append(missing, "-temporal")
	}
	if o.postgres == "" {
		missing = append(missing, "-postgres")
	}
	if o.role != both && missing != nil {
		return fmt.Errorf("-role %s needs %s: without -role one process does all", o.role, strings.Join(missing, " and "))
	}
	if o.attributes && o.temporal == "" {
		return errors.New("-search-attributes needs -temporal")
	}
	if min(o.lease, o.kept) <= 0 || o.rate <= 0 || min(o.parallel, o.running, o.open, o.stored, o.streams, o.memory, o.max) <= 0 {
		return errors.New("a limit is not above 0")
	}
	if o.processes < 0 {
		return errors.New("-processes is below 0")
	}
	if o.grace < 0 || o.grace > maxGrace {
		return fmt.Errorf("-grace %v: want 0 to %v", o.grace, maxGrace)
	}
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return fmt.Errorf("-listen: %w", err)
	}
	if ip := net.ParseIP(host); o.users == "" && o.role != worker && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return errors.New("everybody knows the tokens of the demo users: give -users, or -listen on a loopback address")
	}
	return o.place()
}

// place decides where the runs are.
func (o *options) place() error {
	switch {
	case o.sqlite != "" && o.postgres != "":
		return errors.New("-sqlite and -postgres: give one of both")
	case o.postgres != "" || o.sqlite != "":
		return nil
	}
	dir, err := os.UserConfigDir()
	o.sqlite = filepath.Join(cmp.Or(dir, "."), "mcpchain", "service.db")
	return err
}

// run serves until the context ends.
func (o *options) run(ctx context.Context, logger *slog.Logger) error {
	s, err := assemble(ctx, o, logger)
	if err != nil {
		return err
	}
	defer s.close()
	defer tokens.OnHangup(logger, s.again)()
	if o.role == worker {
		logger.Info("the worker drives runs", "temporal", o.temporal)
		return over(s.work(ctx))
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	logger.Info("the service listens", "url", "http://"+listener.Addr().String(), "store", cmp.Or(o.sqlite, "Postgres"))
	if o.users == "" {
		about := []any{"tokens", demoTokens()}
		if o.servers != "" {
			about = append(about, "they may call the servers of", o.servers)
		}
		logger.Warn("the users are a demo: everybody knows their tokens", about...)
	}
	return s.serve(ctx, listener, o.max)
}

// over is the error of work that has ended, nil if it was to end.
func over(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
