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
// With -fault the worker is not killed. Instead its store fails once: the disk of SQLite is full for a
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
	"os/signal"
	"syscall"
	"time"

	"github.com/mcpchain/mcpchain/evals/chaos/witness"
)

// options are the flags, see main, and what play adds for the worker processes. These get the
// exported fields.
type options struct {
	witness.Store
	Runs  int
	Fault bool
	URL   string // URL of the tools; set by play

	kills int
	slow  time.Duration
}

// check refuses flags that make no sense.
func (o *options) check() error {
	switch {
	case o.Runs < 1 || o.kills < 0 || o.slow <= 0:
		return errors.New("-runs and -slow have to be above 0, and -kills may not be negative")
	case o.Fault && o.Kind == "file":
		return errors.New("-fault needs -store sqlite or postgres")
	}
	return nil
}

// faultSlow makes runs last longer than a fault.
const faultSlow = time.Second

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
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
	flag.IntVar(&o.Runs, "runs", 50, "`number` of runs to begin with; more begin if they are over before the kills are")
	flag.IntVar(&o.kills, "kills", 500, "`number` of times that the worker is killed")
	flag.StringVar(&o.Kind, "store", "file", "`name` of the store: file, sqlite or postgres")
	flag.DurationVar(&o.slow, "slow", 15*time.Millisecond, "how long a call waits at most before and after its effect")
	flag.BoolVar(&o.Fault, "fault", false, "have the store fail once while runs are under way, for a second (postgres: for five),\n"+
		"instead of killing the worker")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("there are only flags, and no argument %q", flag.Arg(0))
	}
	if err := o.check(); err != nil {
		log.Fatal(err)
	}
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
	database, stop, err := o.Start()
	if err != nil {
		return nil, err
	}
	defer stop()
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
	if v, err = script.Judge(ctx, store, w, o.Runs, !o.Fault); err != nil {
		return nil, err
	}

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

// kill runs one worker after the other until all runs have ended, and kills as many as it has to.
// It returns the number of kills.
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

// How long a worker lives that is killed: from before its first call to the last turns of its runs.
const (
	minLife = 30 * time.Millisecond
	maxLife = 430 * time.Millisecond
)

// worker runs a worker process until all runs have ended or, if kill is true, kills it at a random
// moment. killed says that the kill came before the end. The error includes the output of the worker.
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
		timer := time.AfterFunc(minLife+rand.N(maxLife-minLife), func() { _ = cmd.Process.Kill() })
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
