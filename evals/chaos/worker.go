package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"log"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Each run has turns of parallel calls.
const (
	turns = 5
	fan   = 4
)

// callOf names a call of a run.
func callOf(id string, turn, i int) string { return fmt.Sprintf("%s/%d/%d", id, turn, i) }

// runID and kindOf number the runs.
func runID(i int) string  { return fmt.Sprintf("run%04d", i) }
func kindOf(i int) string { return kinds[i%len(kinds)] }
func keyOf(i int) run.Key { return run.Key{ID: runID(i)} }

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
	for i := range fan {
		m.Parts = append(m.Parts, run.Part{
			Type: run.PartCall, ID: fmt.Sprintf("c%d_%d", turn, i), Name: "effect",
			Arguments: fmt.Sprintf(`{"call":%q}`, callOf(id, turn, i)),
		})
	}
	return m
}

// openStore opens the store of a name.
func openStore(ctx context.Context, name, dir, dsn string) (run.Store, error) {
	switch name {
	case "file":
		return filestore.Open(filepath.Join(dir, "runs"), nil)
	case "sqlite":
		db, err := sql.Open("sqlite", filepath.Join(dir, "runs.db"))
		if err != nil {
			return nil, err
		}
		return sqlstore.New(ctx, db, sqlstore.DialectSQLite)
	case "postgres":
		db, err := sql.Open("pgx", dsn)
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(10)
		return sqlstore.New(ctx, db, sqlstore.DialectPostgres)
	}
	return nil, fmt.Errorf("there is no store %q; use file, sqlite or postgres", name)
}

// work drives the first n runs until all are over, or the process is killed. Leases outlive a fault of the store.
func work(ctx context.Context, store run.Store, url string, n int, fault bool) error {
	ttl := 300 * time.Millisecond
	if fault {
		ttl = time.Minute
	}
	var agents []*agent.Agent
	byKind := map[string]*agent.Agent{}
	for _, kind := range kinds {
		server := adapter.Server{Name: kind, Transport: &mcpclient.HTTP{URL: url + "/" + kind}}
		if kind == "keys" {
			server.Idempotency = adapter.KeyInMeta(adapter.KeyMeta)
		}
		tools, err := adapter.Open(ctx, []adapter.Server{server}, nil)
		if err != nil {
			return err
		}
		a, err := agent.New(script{}, &agent.Options{
			Name: kind, Tools: []adapter.Source{tools}, Store: store, LeaseTTL: ttl,
			Limits: run.Limits{Failures: -1, Calls: -1}, ParallelWrites: true, // as many calls under way as there may be
		})
		if err != nil {
			return err
		}
		byKind[kind], agents = a, append(agents, a)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var begun sync.WaitGroup
	for i := range n {
		if _, err := store.Load(ctx, keyOf(i)); errors.Is(err, run.ErrNotFound) {
			begun.Go(func() { begin(ctx, byKind[kindOf(i)], i) })
		}
	}
	go func() {
		begun.Wait()
		for !over(ctx, store, n) {
			time.Sleep(20 * time.Millisecond)
		}
		stop()
	}()
	err := agent.Recover(ctx, store, agents, &agent.RecoverOptions{Every: 30 * time.Millisecond, Logger: slog.Default()})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func begin(ctx context.Context, a *agent.Agent, i int) {
	if _, err := a.Run(ctx, agent.Text(runID(i)), agent.In(runID(i))); err != nil && ctx.Err() == nil {
		log.Printf("%s: %v", runID(i), err)
	}
}

// over reports whether the first n runs have ended.
func over(ctx context.Context, store run.Store, n int) bool {
	ended := 0
	for head, err := range store.List(ctx, run.Query{}) {
		if err != nil {
			return ctx.Err() != nil
		}
		if head.Status.Ended() {
			ended++
		}
	}
	return ended >= n
}
