package chaos

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// script is the model of all runs, whose kinds of servers alternate.
var script = &Script{Turns: 5, Fan: 4, Kinds: []string{Keys, Tasks, Plain}}

// settings are those of a worker process.
type settings struct {
	Store
	Runs  int
	Fault bool   // the store fails once
	URL   string // URL of the tools
}

// work does the work of a worker process. For a fault it fills the disk of SQLite for a while; the test restarts a Postgres
// server itself.
func work(ctx context.Context, s *settings) error {
	store, db, err := s.open(ctx)
	if err != nil {
		return err
	}
	if !s.Fault || s.Kind == "postgres" {
		return s.drive(ctx, store)
	}
	db.SetMaxOpenConns(1) // max_page_count is a setting of a connection
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return s.drive(ctx, store) })
	both.Go(func() error {
		return failOnce(ctx, store, s.Runs, func() error {
			_, full := db.ExecContext(ctx, "PRAGMA max_page_count = 1") // SQLite uses the present size
			time.Sleep(fullFor)
			_, roomy := db.ExecContext(ctx, "PRAGMA max_page_count = 1073741824")
			return errors.Join(full, roomy)
		})
	})
	return both.Wait()
}

const (
	leaseTTL      = 300 * time.Millisecond // the next worker waits for the leases of one that was killed
	faultLeaseTTL = time.Minute            // longer than a fault
	recoverEvery  = 30 * time.Millisecond  // between looks for due runs
	lookEvery     = 20 * time.Millisecond  // between looks whether a run exists, or all have ended
)

// errAllEnded is the cause by which drive ends its work.
var errAllEnded = errors.New("all runs have ended")

// drive drives the runs that do not exist yet, and those that a killed process has left, until all have ended.
func (s *settings) drive(ctx context.Context, store record.Store) error {
	ttl := leaseTTL
	if s.Fault {
		ttl = faultLeaseTTL
	}
	agents, err := script.Agents(ctx, s.URL, agent.Options{
		Durable:        agent.Durable{Store: store, LeaseTTL: ttl},
		ParallelWrites: true, // so that a kill meets as many calls as there may be
	})
	if err != nil {
		return err
	}
	var work sync.WaitGroup
	defer work.Wait()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for i := range s.Runs {
		work.Go(func() { driveNew(ctx, store, agents[i%len(agents)], script.Key(i).ID) })
	}
	work.Go(func() {
		awaitEnds(ctx, store, s.Runs)
		stop(errAllEnded)
	})
	err = agent.Recover(ctx, store, agents, &agent.RecoverOptions{PollInterval: recoverEvery, Logger: slog.Default()})
	if context.Cause(ctx) == errAllEnded {
		return nil
	}
	return err
}

// driveNew drives a run from its beginning, again if the store fails before the run exists. A run that exists is left to
// [agent.Recover].
func driveNew(ctx context.Context, store record.Store, a *agent.Agent, id string) {
	for ; ctx.Err() == nil; time.Sleep(lookEvery) {
		_, err := store.LoadCurrent(ctx, run.Key{ID: id})
		if errors.Is(err, record.ErrNotFound) {
			_, err = a.Run(ctx, agent.Text(id), agent.WithRun(id), agent.WithNewRun())
		}
		if err == nil || errors.Is(err, record.ErrExists) {
			return
		}
		log.Printf("%s: %v", id, err)
	}
}

// awaitEnds waits until n runs have ended, or until the context ends. While the store fails it looks again.
func awaitEnds(ctx context.Context, store record.Store, n int) {
	for ; ctx.Err() == nil; time.Sleep(lookEvery) {
		_, ended, err := count(ctx, store)
		if err == nil && ended >= n {
			return
		}
	}
}

// count returns how many runs there are, and how many of them have ended.
func count(ctx context.Context, store record.Store) (all, ended int, err error) {
	for head, err := range store.List(ctx, record.Query{}) {
		if err != nil {
			return 0, 0, err
		}
		all++
		if head.Status.Ended() {
			ended++
		}
	}
	return all, ended, nil
}

// How long a store fails.
const (
	fullFor = time.Second
	downFor = 5 // seconds that a Postgres server is down
)

// failOnce calls fail, which makes the store fail for a while, as soon as n runs have begun. It returns the error of fail,
// or one that says why the store has not failed.
func failOnce(ctx context.Context, store record.Store, n int, fail func() error) error {
	for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		all, ended, err := count(ctx, store)
		switch {
		case err != nil:
			return err
		case ended > 0:
			return errors.New("a run was over before the store failed")
		case all >= n:
			return fail()
		}
	}
	return ctx.Err()
}
