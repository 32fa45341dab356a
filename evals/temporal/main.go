// Temporal kills the workers of a Temporal service while they drive runs of agents, and counts
// what was lost. The Temporal server is part of the program, with SQLite in memory; the workers
// are processes that share a store of runs:
//
//	cd evals/temporal && go run .
//	cd evals/temporal && go run . -runs 20 -workers 2
//
// Each run asks for approvals and forms. About every third question gets its reply twice at once, and then another one,
// which must be refused. Every two seconds (-every) a worker is killed and started again. At the end each call of each
// run is compared with its effects, see [witness.Counts].
//
// A pause is the time from a kill until another worker holds the run whose step was interrupted.
// It depends on -lease: the heartbeat timeout of a step is two fifths of the lease, and the bound
// of a pause, at the 99th percentile, is the lease and a second. The exit status is 1 if the bound
// is exceeded, or if a call or a reply had a wrong outcome.
//
// The tests need TEMPORAL_SERVER=embedded or -tags embedded: they build the server, too.
package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"time"

	"github.com/mcpchain/mcpchain/evals/chaos/witness"
)

// options are the flags, see main, and what play adds for the worker processes. These get the
// exported fields.
type options struct {
	witness.Store
	Lease time.Duration

	Worker    int    // number of the worker process, from 1
	Address   string // address of the Temporal server
	Namespace string // namespace at the Temporal server
	Tools     string // URL of the tools

	runs    int
	workers int
	length  time.Duration // how long workers are killed
	every   time.Duration // between kills
}

// check refuses flags with which the program would divide by zero, or wait forever.
func (o *options) check() error {
	if o.runs < 1 || o.workers < 1 || o.every <= 0 || o.Lease <= 0 || o.length < 0 {
		return errors.New("-runs, -workers, -every and -lease have to be above 0, and -time may not be negative")
	}
	return nil
}

func main() {
	o := options{Store: witness.Store{Kind: "sqlite"}}
	postgres := false
	witness.Main(&o, o.work, func() {
		flag.IntVar(&o.runs, "runs", 200, "`number` of runs")
		flag.IntVar(&o.workers, "workers", 3, "`number` of worker processes")
		flag.DurationVar(&o.length, "time", time.Minute, "how long workers are killed")
		flag.DurationVar(&o.every, "every", 2*time.Second, "the time between kills")
		flag.DurationVar(&o.Lease, "lease", 3*time.Second, "the lease of a run, on which the length of pauses depends")
		flag.BoolVar(&postgres, "postgres", false, "start a Postgres server as the store of runs, instead of a file of SQLite")
	}, func(ctx context.Context) (bool, error) {
		if err := o.check(); err != nil {
			return false, err
		}
		if postgres {
			o.Kind = "postgres"
		}
		clean, fast, err := o.play(ctx, os.Stdout)
		return clean && fast, err
	})
}
