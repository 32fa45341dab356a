package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"go.temporal.io/sdk/client"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/temporal"
	"github.com/mcpchain/mcpchain/evals/chaos/witness"
)

// script is the model of all runs: each turn has a plain call and one that asks a person.
var script = &witness.Script{Turns: 4, Fan: 2, Kinds: []string{witness.Keys, witness.Plain}, Tenants: 5, Tool: func(turn, call int) string {
	if call == 0 {
		return "effect"
	}
	return []string{"approved", "form"}[turn%2]
}}

// open opens the store of runs.
func (o *options) open(ctx context.Context) (record.Store, error) {
	name := "sqlite"
	if o.dsn != "" {
		name = "postgres"
	}
	return witness.OpenStore(ctx, name, o.dir, o.dsn)
}

// work does the work of a worker process, until it is killed.
func (o *options) work(ctx context.Context) error {
	store, err := o.open(ctx)
	if err != nil {
		return err
	}
	r := &reporter{Store: store, url: o.world + "/report", worker: o.worker, status: map[run.Key]run.Status{}}
	agents, err := script.Agents(ctx, o.world, agent.Options{
		Durable: agent.Durable{Store: r, LeaseTTL: o.lease},
		Person: agent.Person{Approve: func(_ context.Context, a *approval.Request) (approval.Decision, error) {
			if a.Name == "approved" {
				return approval.Decision{}, agent.ErrAsk
			}
			return approval.Allow(), nil
		}},
	})
	if err != nil {
		return err
	}
	service, err := client.Dial(client.Options{HostPort: o.address, Namespace: o.space, Logger: quiet()})
	if err != nil {
		return err
	}
	w, err := temporal.NewWorker(service, agents, &temporal.WorkerOptions{
		Context: func(ctx context.Context, key run.Key) context.Context {
			r.report(key, "begin")
			return ctx
		},
	})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// reporter is a store that reports who holds a run.
type reporter struct {
	record.Store
	url    string
	worker int

	mu     sync.Mutex
	status map[run.Key]run.Status
}

func (r *reporter) report(key run.Key, what string) {
	q := url.Values{"worker": {fmt.Sprint(r.worker)}, "run": {key.ID}, "what": {what}}
	if resp, err := http.Post(r.url+"?"+q.Encode(), "", nil); err == nil {
		resp.Body.Close()
	}
}

func (r *reporter) Acquire(ctx context.Context, key run.Key, h record.Holder) (record.Lease, error) {
	lease, err := r.Store.Acquire(ctx, key, h)
	if err == nil {
		r.report(key, "hold")
	}
	return lease, err
}

func (r *reporter) Append(ctx context.Context, lease record.Lease, head run.Head, records []run.Record, answers ...run.Reply) error {
	err := r.Store.Append(ctx, lease, head, records, answers...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status[lease.Key] = head.Status
	return err
}

func (r *reporter) Release(ctx context.Context, lease record.Lease) error {
	err := r.Store.Release(ctx, lease)
	r.mu.Lock()
	status := r.status[lease.Key]
	delete(r.status, lease.Key)
	r.mu.Unlock()
	r.report(lease.Key, "free "+string(status))
	return err
}
