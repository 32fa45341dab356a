// Temporal kills the workers of a Temporal service while they drive runs of agents, and counts
// what was lost. The Temporal server is part of the program, with SQLite in memory; the workers
// are processes that share a store of runs. From the root of the repository:
//
//	go run ./evals/chaos -store temporal
//	go run ./evals/chaos -store temporal -- -runs 20 -workers 2
//
// Each run asks for approvals and forms. Some replies are sent twice, and some too late. Every
// other second a worker is killed and started again. At the end each call of each run is
// compared with its effects:
//
//   - lost: the model was told of a result, and there was no effect
//   - doubled: there was more than one effect
//   - silent: there was an effect, and the model was told that there was none
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
)

type options struct {
	runs, workers  int
	length, every  time.Duration
	lease          time.Duration
	dsn            string
	postgres       bool
	worker         int
	address, space string
	world, dir     string
}

func main() {
	log.SetFlags(0)
	var o options
	flag.IntVar(&o.runs, "runs", 200, "runs")
	flag.IntVar(&o.workers, "workers", 3, "worker processes")
	flag.DurationVar(&o.length, "time", time.Minute, "how long workers are killed")
	flag.DurationVar(&o.every, "every", 2*time.Second, "the time between kills")
	flag.DurationVar(&o.lease, "lease", 3*time.Second, "the lease of a run. The heartbeat timeout of its steps is two fifths of it; the bound of a pause is the lease and a second")
	flag.StringVar(&o.dsn, "dsn", "", "a Postgres `database` as the store of runs, which must be empty. Default: a file of SQLite")
	flag.BoolVar(&o.postgres, "postgres", false, "begin a Postgres server, as the store of runs")
	flag.IntVar(&o.worker, "worker", 0, "be the worker of this number")
	flag.StringVar(&o.address, "address", "", "of Temporal, for a worker")
	flag.StringVar(&o.space, "namespace", "", "of Temporal, for a worker")
	flag.StringVar(&o.world, "world", "", "`URL` of the tools, for a worker")
	flag.StringVar(&o.dir, "dir", "", "of the store, for a worker")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.runs < 1 || o.workers < 1 {
		log.Fatal("-runs and -workers have to be above 0")
	}
	if o.worker > 0 {
		log.Fatal(o.work(ctx))
	}
	clean, fast, err := o.play(ctx, os.Stdout)
	if err != nil {
		log.Fatal(err)
	}
	if !clean || !fast {
		os.Exit(1)
	}
}
