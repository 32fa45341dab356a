// Temporal kills the workers of a Temporal service while they drive runs of agents, and counts
// what was lost. The Temporal server is part of the program, with SQLite in memory; the workers
// are processes that share a store of runs:
//
//	cd evals/temporal && go run .
//	cd evals/temporal && go run . -runs 20 -workers 2
//
// Each run asks for approvals and forms. Some replies are sent twice, and some too late. Every
// other second a worker is killed and started again. At the end each call of each run is
// compared with its effects, see [witness.Counts].
//
// A pause is the time from a kill until another worker holds the run whose step was interrupted.
//
// The tests need TEMPORAL_SERVER=embedded or -tags embedded: they build the server, too.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mcpchain/mcpchain/evals/chaos/witness"
)

// options are those of the program. A worker process gets the exported ones.
type options struct {
	witness.Store
	Lease  time.Duration
	Worker int // its number, from 1

	Address, Namespace string // of Temporal
	World              string // URL of the tools

	runs, workers int
	length, every time.Duration
	postgres      bool
}

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	if worker, err := witness.Settings(&o); worker {
		if err == nil {
			err = o.work(ctx)
		}
		log.Fatal(err)
	}
	flag.IntVar(&o.runs, "runs", 200, "runs")
	flag.IntVar(&o.workers, "workers", 3, "worker processes")
	flag.DurationVar(&o.length, "time", time.Minute, "how long workers are killed")
	flag.DurationVar(&o.every, "every", 2*time.Second, "the time between kills")
	flag.DurationVar(&o.Lease, "lease", 3*time.Second, "the lease of a run. The heartbeat timeout of its steps is two fifths of it; the bound of a pause is the lease and a second")
	flag.BoolVar(&o.postgres, "postgres", false, "begin a Postgres server, as the store of runs. Default: a file of SQLite")
	flag.Parse()
	if o.runs < 1 || o.workers < 1 {
		log.Fatal("-runs and -workers have to be above 0")
	}
	clean, fast, err := o.play(ctx, os.Stdout)
	if err != nil {
		log.Fatal(err)
	}
	if !clean || !fast {
		os.Exit(1)
	}
}
