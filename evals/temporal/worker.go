package temporaleval

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/temporal"
	"github.com/mcpchain/mcpchain/evals/chaos"
)

// script is the model of all runs: each turn has a plain call and one that asks a person.
var script = &chaos.Script{Turns: 4, Fan: 2, Kinds: []string{chaos.Keys, chaos.Plain}, Tenants: 5, Tool: func(turn, call int) string {
	if call == 0 {
		return "effect"
	}
	return []string{"approved", "form"}[turn%2]
}}

// work does the work of a worker process, until it is killed.
func work(ctx context.Context, s *settings) error {
	store, err := s.Open(ctx)
	if err != nil {
		return err
	}
	r := &reporter{Store: store, url: s.Tools + "/report", worker: s.Worker}
	agents, err := script.Agents(ctx, s.Tools, agent.Options{
		Durable: agent.Durable{Store: r, LeaseTTL: s.Lease},
		Person: agent.Person{Approve: func(ctx context.Context, a *approval.Request) (approval.Decision, error) {
			if a.Name == "approved" {
				return agent.AskPerson(ctx, a)
			}
			return approval.Decision{Allow: true}, nil
		}},
	})
	if err != nil {
		return err
	}
	service, err := s.dial()
	if err != nil {
		return err
	}
	return temporal.Work(ctx, service, agents, &temporal.WorkerOptions{
		Context: func(ctx context.Context, key run.Key) context.Context {
			r.report(key, "begin")
			return ctx
		},
	})
}

// reporter is a store that tells [watch] who holds a run.
type reporter struct {
	record.Store
	url    string // URL of watch
	worker int    // number of this process
}

// report reports that a step of the run begins, that this process holds the run, or that the run is
// free. A report that fails is lost: then a pause is not measured.
func (r *reporter) report(key run.Key, what string) {
	q := url.Values{"worker": {fmt.Sprint(r.worker)}, "run": {key.ID}, "what": {what}}
	if resp, err := http.Post(r.url+"?"+q.Encode(), "", nil); err == nil {
		resp.Body.Close()
	}
}

// Acquire implements [record.Store].
func (r *reporter) Acquire(ctx context.Context, key run.Key, h record.Holder) (record.Lease, error) {
	lease, err := r.Store.Acquire(ctx, key, h)
	if err == nil {
		r.report(key, "hold")
	}
	return lease, err
}

// Release implements [record.Store].
func (r *reporter) Release(ctx context.Context, lease record.Lease) error {
	err := r.Store.Release(ctx, lease)
	r.report(lease.Key, "free")
	return err
}
