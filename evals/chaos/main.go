// Chaos kills the process of an agent again and again, and counts the effects of its tools:
//
//	go run ./evals/chaos -runs 50 -kills 500 -store file
//	go run ./evals/chaos -runs 50 -kills 500 -store sqlite
//	go run ./evals/chaos -runs 50 -kills 500 -store postgres
//
// Runs of several turns with four parallel tool calls each are driven by one worker process,
// which is killed (SIGKILL) at random moments and started again. The tools belong to three
// servers in the first process, which count effects: one recognizes a call by its key, one runs
// calls as tasks, and one does neither. At the end each call of each run is compared with its
// effects, see [witness.Counts]. Calls of the server with keys are never in doubt.
//
// With -fault the worker is not killed. Instead its store fails once: the disk is full for a
// second, or the Postgres server is down for five. Then no call may be in doubt.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"time"

	"github.com/mcpchain/mcpchain/evals/chaos/witness"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// options are those of the program. A worker process gets the exported ones.
type options struct {
	witness.Store
	URL   string // of the servers
	Runs  int
	Fault bool // the store fails once

	kills int
	slow  time.Duration // how long a call waits at most before and after its effect
}

// faultSlow makes runs last longer than a fault.
const faultSlow = time.Second

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	var o options
	if worker, err := witness.Settings(&o); worker {
		if err == nil {
			err = o.work(ctx)
		}
		if err != nil {
			log.Fatal(err)
		}
		return
	}
	flag.IntVar(&o.Runs, "runs", 50, "runs to begin with; more begin if they are over before the kills are")
	flag.IntVar(&o.kills, "kills", 500, "how often the worker is killed")
	flag.StringVar(&o.Kind, "store", "file", "`name` of the store: file, sqlite or postgres")
	flag.StringVar(&o.DSN, "dsn", "", "database of -store postgres, which must be empty; by default that of a server that is started for it")
	flag.DurationVar(&o.slow, "slow", 15*time.Millisecond, "how long a call waits at most before and after its effect")
	flag.BoolVar(&o.Fault, "fault", false, "have the store fail once while runs are under way, for a second (postgres: for five), instead of killing the worker")
	flag.Parse()
	if o.Fault {
		o.kills, o.slow = 0, max(o.slow, faultSlow)
	}
	v, err := o.play(ctx, os.Stdout)
	if err != nil {
		log.Fatal(err)
	}
	if !v.Clean() {
		os.Exit(1)
	}
}

// play drives the runs, and compares their calls with the effects.
func (o *options) play(ctx context.Context, out io.Writer) (v *witness.Verdict, err error) {
	var database *testenv.Postgres
	if o.Kind == "postgres" && o.DSN == "" {
		if database, err = testenv.StartPostgres(); err != nil {
			return nil, err
		}
		defer database.Stop()
		o.DSN = database.DSN("postgres")
	}
	if o.Dir, err = os.MkdirTemp("", "chaos"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(o.Dir)
	w := witness.New(o.slow, "effect")
	server := httptest.NewServer(w)
	defer server.Close()
	o.URL = server.URL
	store, err := o.Open(ctx)
	if err != nil {
		return nil, err
	}
	if o.Fault && database != nil {
		end := failOnce(ctx, store, o.Runs, func() error { return database.Restart(downFor) })
		defer func() { err = errors.Join(err, end()) }()
	}
	kills, err := o.kill(ctx)
	if err != nil {
		return nil, err
	}
	if v, err = script.Judge(ctx, store, w, o.Runs); err != nil {
		return nil, err
	}
	v.Alive = o.Fault
	fault := ""
	if o.Fault {
		fault = ", which failed once"
	}
	fmt.Fprintf(out, "store %s%s: %d runs, %d kills\n", o.Kind, fault, o.Runs, kills)
	v.Print(out)
	return v, nil
}

// moreRuns are added whenever all runs have ended before the last kill.
const moreRuns = 10

// kill runs workers until all runs have ended, and kills them. It returns the number of kills.
func (o *options) kill(ctx context.Context) (kills int, err error) {
	for {
		killed, err := o.worker(ctx, kills < o.kills)
		switch {
		case err != nil:
			return kills, err
		case killed:
			kills++
		case kills < o.kills:
			o.Runs += moreRuns
		default:
			return kills, nil
		}
	}
}

// worker runs a worker process until it is killed, or its runs have ended.
func (o *options) worker(ctx context.Context, kill bool) (killed bool, err error) {
	cmd, err := witness.Worker(ctx, o)
	if err != nil {
		return false, err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return false, err
	}
	if kill {
		timer := time.AfterFunc(30*time.Millisecond+rand.N(400*time.Millisecond), func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	err = cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == -1 {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("the worker failed: %w\n%s", err, stderr.Bytes())
	}
	return false, nil
}
