package main

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/evals/chaos/witness"
)

// script is the model of all runs.
var script = &witness.Script{Turns: 5, Fan: 4, Kinds: []string{witness.Keys, witness.Tasks, witness.Plain}}

// work does the work of a worker process. With -fault the disk of SQLite is full for a while; a
// Postgres server is restarted by play instead.
func (o *options) work(ctx context.Context) error {
	if !o.Fault || o.Kind == "postgres" {
		store, err := o.Open(ctx)
		if err != nil {
			return err
		}
		return o.drive(ctx, store)
	}
	store, fill, err := o.openFailing(ctx)
	if err != nil {
		return err
	}
	end := failOnce(ctx, store, o.Runs, func() error {
		err := fill(true)
		time.Sleep(fullFor)
		return errors.Join(err, fill(false))
	})
	err = o.drive(ctx, store)
	return errors.Join(err, end())
}

// drive begins the runs that do not exist yet, continues those that a killed process has left, and
// returns when all have ended.
func (o *options) drive(ctx context.Context, store record.Store) error {
	ttl := 300 * time.Millisecond
	if o.Fault {
		ttl = time.Minute // longer than the fault
	}
	agents, err := script.Agents(ctx, o.URL, agent.Options{
		Durable:        agent.Durable{Store: store, LeaseTTL: ttl},
		ParallelWrites: true, // so that a kill meets as many calls as there may be
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var begun sync.WaitGroup
	for i := range o.Runs {
		if _, err := store.Load(ctx, script.Key(i)); errors.Is(err, record.ErrNotFound) {
			begun.Go(func() { begin(ctx, agents[i%len(agents)], script.Key(i).ID) })
		}
	}
	go func() {
		begun.Wait()
		for {
			_, ended, err := count(ctx, store)
			if ctx.Err() != nil || err == nil && ended >= o.Runs {
				stop()
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	err = agent.Recover(ctx, store, agents, &agent.RecoverOptions{PollInterval: 30 * time.Millisecond, Logger: slog.Default()})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// begin begins a run, which drive continues if that fails.
func begin(ctx context.Context, a *agent.Agent, id string) {
	if _, err := a.Run(ctx, agent.Text(id), agent.WithRun(id)); err != nil && ctx.Err() == nil {
		log.Printf("%s: %v", id, err)
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
