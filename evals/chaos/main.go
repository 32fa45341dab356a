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
	"path/filepath"
	"time"

	"github.com/mcpchain/mcpchain/evals/chaos/witness"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

func main() {
	log.SetFlags(0)
	var o options
	flag.IntVar(&o.runs, "runs", 50, "runs to begin with; more begin if they are over before the kills are")
	flag.IntVar(&o.kills, "kills", 500, "how often the worker is killed")
	flag.StringVar(&o.store, "store", "file", "`name` of the store: file, sqlite or postgres; or temporal, see evals/temporal for its flags")
	flag.StringVar(&o.dsn, "dsn", "", "database of -store postgres, which must be empty; by default that of a server that is started for it")
	flag.DurationVar(&o.slow, "slow", 15*time.Millisecond, "how long a call waits at most before and after its effect")
	flag.BoolVar(&o.fault, "fault", false, "have the store fail once while runs are under way, for a second (postgres: for five), instead of killing the worker")
	worker := flag.String("worker", "", "be a worker on the servers at this `URL`")
	flag.StringVar(&o.dir, "dir", "", "of the worker's store")
	flag.Parse()
	ctx := context.Background()
	if o.store == "temporal" {
		flag.Visit(func(f *flag.Flag) {
			if f.Name != "store" {
				log.Fatalf("-%s: with -store temporal, write other flags after --", f.Name)
			}
		})
		if err := atTemporal(ctx); err != nil {
			log.Fatal(err)
		}
		return
	}
	if o.fault {
		o.kills, o.slow = 0, max(o.slow, faultSlow)
	}
	if *worker != "" {
		err := o.work(ctx, *worker)
		if err != nil {
			log.Fatal(err)
		}
		return
	}
	v, err := o.play(ctx, os.Stdout)
	if err != nil {
		log.Fatal(err)
	}
	if !v.Clean() {
		os.Exit(1)
	}
}

// atTemporal runs the program of evals/temporal, a module of its own, with the remaining
// arguments.
func atTemporal(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"run", "."}, flag.Args()...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join("evals", "temporal"), os.Stdout, os.Stderr
	return cmd.Run()
}

type options struct {
	runs, kills     int
	store, dsn, dir string
	slow            time.Duration
	fault           bool
}

// faultSlow makes runs last longer than a fault.
const faultSlow = time.Second

// play drives the runs, and compares their calls with the effects.
func (o *options) play(ctx context.Context, out io.Writer) (v *witness.Verdict, err error) {
	var database *testenv.Postgres
	if o.store == "postgres" && o.dsn == "" {
		if database, err = testenv.StartPostgres(); err != nil {
			return nil, err
		}
		defer database.Stop()
		o.dsn = database.DSN("postgres")
	}
	if o.dir, err = os.MkdirTemp("", "chaos"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(o.dir)
	w := witness.New(o.slow, "effect")
	server := httptest.NewServer(w)
	defer server.Close()
	store, err := witness.OpenStore(ctx, o.store, o.dir, o.dsn)
	if err != nil {
		return nil, err
	}
	if o.fault && database != nil {
		failed := make(chan error, 1)
		ctx, stop := context.WithCancel(ctx)
		go func() { failed <- restart(ctx, database, store, o.runs) }()
		defer func() {
			stop()
			err = errors.Join(err, <-failed)
		}()
	}
	kills, err := o.kill(ctx, server.URL)
	if err != nil {
		return nil, err
	}
	if v, err = script.Judge(ctx, store, w, o.runs); err != nil {
		return nil, err
	}
	v.Alive = o.fault
	fault := ""
	if o.fault {
		fault = ", which failed once"
	}
	fmt.Fprintf(out, "store %s%s: %d runs, %d kills\n", o.store, fault, o.runs, kills)
	v.Print(out)
	return v, nil
}

// moreRuns are added whenever all runs have ended before the last kill.
const moreRuns = 10

// kill runs workers until all runs have ended, and kills them. It returns the number of kills.
func (o *options) kill(ctx context.Context, url string) (kills int, err error) {
	for {
		killed, err := o.worker(ctx, url, kills < o.kills)
		switch {
		case err != nil:
			return kills, err
		case killed:
			kills++
		case kills < o.kills:
			o.runs += moreRuns
		default:
			return kills, nil
		}
	}
}

// work does the work of a worker process.
func (o *options) work(ctx context.Context, url string) error {
	if !o.fault || o.store == "postgres" {
		store, err := witness.OpenStore(ctx, o.store, o.dir, o.dsn)
		if err != nil {
			return err
		}
		return work(ctx, store, url, o.runs, o.fault)
	}
	store, fill, err := openFailing(ctx, o.store, o.dir)
	if err != nil {
		return err
	}
	filled := make(chan error, 1)
	go func() { filled <- fillOnce(ctx, store, o.runs, fill) }()
	err = work(ctx, store, url, o.runs, true)
	return errors.Join(err, <-filled)
}

// worker runs a worker process until it is killed, or its runs have ended.
func (o *options) worker(ctx context.Context, url string, kill bool) (killed bool, err error) {
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	cmd := exec.CommandContext(ctx, self, "-worker", url, "-dir", o.dir, "-store", o.store, "-dsn", o.dsn, "-runs", fmt.Sprint(o.runs), fmt.Sprintf("-fault=%v", o.fault))
	cmd.Env = append(os.Environ(), asWorker+"=1")
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

// asWorker marks the environment of a worker process, for the test binary.
const asWorker = "CHAOS_WORKER"
