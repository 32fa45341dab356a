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

// work drives the first n runs until all have ended or the process is killed. With fault the
// leases outlive a fault of the store.
func work(ctx context.Context, store record.Store, url string, n int, fault bool) error {
	ttl := 300 * time.Millisecond
	if fault {
		ttl = time.Minute
	}
	agents, err := script.Agents(ctx, url, agent.Options{Durable: agent.Durable{Store: store, LeaseTTL: ttl}, ParallelWrites: true}) // as many calls under way as there may be
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var begun sync.WaitGroup
	for i := range n {
		if _, err := store.Load(ctx, script.Key(i)); errors.Is(err, record.ErrNotFound) {
			begun.Go(func() { begin(ctx, agents[i%len(agents)], script.Key(i).ID) })
		}
	}
	go func() {
		begun.Wait()
		for !over(ctx, store, n) {
			time.Sleep(20 * time.Millisecond)
		}
		stop()
	}()
	err = agent.Recover(ctx, store, agents, &agent.RecoverOptions{Every: 30 * time.Millisecond, Logger: slog.Default()})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func begin(ctx context.Context, a *agent.Agent, id string) {
	if _, err := a.Run(ctx, agent.Text(id), agent.In(id)); err != nil && ctx.Err() == nil {
		log.Printf("%s: %v", id, err)
	}
}

// over reports whether n runs have ended.
func over(ctx context.Context, store record.Store, n int) bool {
	ended := 0
	for head, err := range store.List(ctx, record.Query{}) {
		if err != nil {
			return ctx.Err() != nil
		}
		if head.Status.Ended() {
			ended++
		}
	}
	return ended >= n
}
