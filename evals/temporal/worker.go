package main

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"

	_ "github.com/jackc/pgx/v5/stdlib"
	"go.temporal.io/sdk/client"
	_ "modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/agent/temporal"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// turns is how many turns of calls a run has: one plain call, and one that asks a person.
const turns = 4

// The kinds of servers.
var kinds = []string{"keys", "plain"}

func kindOf(i int) string { return kinds[i%len(kinds)] }
func keyOf(i int) run.Key {
	return run.Key{Tenant: fmt.Sprint("tenant", i%5), ID: fmt.Sprintf("run%04d", i)}
}

// toolOf is the tool of a call of a turn.
func toolOf(turn, i int) string {
	if i == 0 {
		return "effect"
	}
	return []string{"approved", "form"}[turn%2]
}

func callOf(id string, turn, i int) string { return fmt.Sprintf("%s/%d/%d", id, turn, i) }

// script is a model that asks for the calls of the next turn, by the history that it gets.
type script struct{}

func (script) Info() model.Info { return model.Info{Whole: true} }

func (s script) Generate(_ context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		yield(model.Delta{Reply: &model.Reply{Message: s.next(r.Messages)}}, nil)
	}
}

func (script) next(messages []run.Message) run.Message {
	turn, id := 0, ""
	for _, m := range messages {
		switch m.Role {
		case run.RoleAssistant:
			turn++
		case run.RoleUser:
			id = m.Text()
		}
	}
	if turn == turns {
		return run.Text(run.RoleAssistant, "done")
	}
	m := run.Message{Role: run.RoleAssistant}
	for i := range 2 {
		m.Parts = append(m.Parts, run.Part{
			Type: run.PartCall, ID: fmt.Sprintf("c%d_%d", turn, i), Name: toolOf(turn, i),
			Arguments: fmt.Sprintf(`{"call":%q}`, callOf(id, turn, i)),
		})
	}
	return m
}

// open opens the store of runs.
func (o *options) open(ctx context.Context) (run.Store, error) {
	if o.dsn != "" {
		db, err := sql.Open("pgx", o.dsn)
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(10)
		return sqlstore.New(ctx, db, sqlstore.DialectPostgres)
	}
	db, err := sql.Open("sqlite", filepath.Join(o.dir, "runs.db"))
	if err != nil {
		return nil, err
	}
	return sqlstore.New(ctx, db, sqlstore.DialectSQLite)
}

// work is a worker process, until it is killed.
func (o *options) work(ctx context.Context) error {
	store, err := o.open(ctx)
	if err != nil {
		return err
	}
	r := &reporter{Store: store, url: o.world + "/report", worker: o.worker, status: map[run.Key]run.Status{}}
	var agents []*agent.Agent
	for _, kind := range kinds {
		a, err := o.agent(ctx, kind, r)
		if err != nil {
			return err
		}
		agents = append(agents, a)
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

func (o *options) agent(ctx context.Context, kind string, store run.Store) (*agent.Agent, error) {
	server := adapter.Server{Name: kind, Transport: &mcpclient.HTTP{URL: o.world + "/" + kind}}
	if kind == "keys" {
		server.Idempotency = adapter.KeyInMeta(adapter.KeyMeta)
	}
	tools, err := adapter.Open(ctx, []adapter.Server{server}, nil)
	if err != nil {
		return nil, err
	}
	return agent.New(script{}, &agent.Options{
		Name: kind, Tools: []adapter.Source{tools}, Store: store, LeaseTTL: o.lease, Limits: run.Limits{Failures: -1, Calls: -1},
		Approve: func(_ context.Context, a *adapter.Approval) (adapter.Decision, error) {
			if a.Name == "approved" {
				return adapter.Decision{}, agent.ErrAsk
			}
			return adapter.Allow(), nil
		},
	})
}

// reporter is a store that reports who holds a run.
type reporter struct {
	run.Store
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

func (r *reporter) Acquire(ctx context.Context, key run.Key, h run.Holder) (run.Lease, error) {
	lease, err := r.Store.Acquire(ctx, key, h)
	if err == nil {
		r.report(key, "hold")
	}
	return lease, err
}

func (r *reporter) Append(ctx context.Context, lease run.Lease, head run.Head, records []run.Record, answers ...run.Answer) error {
	err := r.Store.Append(ctx, lease, head, records, answers...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status[lease.Key] = head.Status
	return err
}

func (r *reporter) Release(ctx context.Context, lease run.Lease) error {
	err := r.Store.Release(ctx, lease)
	r.mu.Lock()
	status := r.status[lease.Key]
	delete(r.status, lease.Key)
	r.mu.Unlock()
	r.report(lease.Key, "free "+string(status))
	return err
}
