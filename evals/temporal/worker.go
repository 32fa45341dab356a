// Package temporaleval tests runs of agents on a Temporal server, which is part of the test program, with SQLite in memory.
// The tests need TEMPORAL_SERVER=embedded or -tags embedded: they build the server, too.
//
// TestChaos kills workers, which are processes that share a store of runs:
//
//	cd evals/temporal && go test -tags embedded -v -run TestChaos . -runs 200 -workers 3 -time 1m -lease 3s -pauses
//
// Each run asks for approvals and forms. About every third question gets its reply twice at once, and then another one,
// which must be refused. Every two seconds (-every) a worker is killed and started again. At the end each call of each
// run is compared with its effects, see [chaos.Counts].
//
// A pause is the time from a kill until another worker holds the run whose step was interrupted.
// It depends on -lease: the heartbeat timeout of a step is two fifths of the lease, and the bound
// of a pause, at the 99th percentile, is the lease and a second. With -pauses the test fails if the bound is exceeded.
package temporaleval

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os/exec"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/temporal"
	"github.com/mcpchain/mcpchain/evals/chaos"
	"github.com/mcpchain/mcpchain/internal/check"
)

// settings are those of a worker process.
type settings struct {
	chaos.Store
	Lease     time.Duration
	Worker    int    // number of the worker, from 1
	Address   string // address of the Temporal server
	Namespace string // namespace at the Temporal server
	Tools     string // URL of the tools
}

// dial connects to the Temporal server.
func (s *settings) dial() (client.Client, error) {
	return client.Dial(client.Options{HostPort: s.Address, Namespace: s.Namespace, Logger: quiet()})
}

// quiet returns a logger for Temporal that discards everything.
func quiet() log.Logger { return log.NewStructuredLogger(slog.New(slog.DiscardHandler)) }

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

// fleet has the worker processes. Its methods must not be called concurrently.
type fleet struct {
	settings
	watch *watch
	cmds  []*exec.Cmd   // worker number 1 comes first
	used  time.Duration // processor time of workers that have ended
}

// begin starts worker i.
func (f *fleet) begin(t *testing.T, i int) {
	t.Helper()
	s := f.settings
	s.Worker = i + 1
	f.cmds[i] = chaos.Worker(t, s)
	f.cmds[i].Stderr = t.Output()
	check.Must(t, f.cmds[i].Start())
}

// kill kills worker i, and waits for its end.
func (f *fleet) kill(i int) {
	cmd := f.cmds[i]
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	f.used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	f.watch.kill(i + 1)
}

// performRuns starts n runs, one after the other, with a pause after each, and waits for their ends.
func performRuns(ctx context.Context, c *temporal.Client, store record.Store, n int, pause time.Duration) error {
	agents := map[string]*agent.Agent{} // agents by name, without tools, which only the workers need
	for _, kind := range script.Kinds {
		a, err := agent.New(script.Model(), &agent.Options{Name: kind, Durable: agent.Durable{Store: store}})
		if err != nil {
			return err
		}
		agents[kind] = a
	}
	for i := range n {
		key := script.Key(i)
		if _, err := c.Start(ctx, agents[script.Kind(i)], agent.Text(key.ID), agent.WithRun(key.ID), agent.WithTenant(key.Tenant)); err != nil {
			return err
		}
		time.Sleep(pause)
	}
	for i := range n {
		if _, err := c.Result(ctx, script.Key(i)); err != nil {
			return err
		}
	}
	return nil
}
