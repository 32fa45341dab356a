package service

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/feed"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
)

// local drives the runs in this process.
type local struct {
	agent           *agent.Agent
	store           sqlstore.Store
	feed            *feed.Feed
	parallel, share int           // runs at the same time, and of one user
	grace           time.Duration // of calls when the process stops
	logger          *slog.Logger
	wake            chan struct{} // has room for one

	mu       sync.Mutex // guards the fields below
	working  map[run.Key]*visit
	draining bool // no run is to continue here
}

func (l *local) start(ctx context.Context, user, id, input string) (run.Key, error) {
	key, err := l.agent.Begin(ctx, agent.Text(input), named(user, id)...)
	l.due()
	return key, err
}

func (l *local) answer(ctx context.Context, key run.Key, answers []run.Reply) error {
	err := l.agent.Reply(ctx, key, answers...)
	l.due()
	return err
}

// due has the runs that can go on looked for at once.
func (l *local) due() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *local) work(ctx context.Context) error {
	l.count(ctx)
	var listening sync.WaitGroup
	defer listening.Wait()
	stop, cancelStop := context.WithCancel(ctx)
	defer cancelStop()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	listening.Go(func() {
		defer cancel()
		<-stop.Done()
		l.drain()
	})
	return agent.Recover(ctx, l.store, []*agent.Agent{l.agent}, &agent.RecoverOptions{
		Parallel: l.parallel, Share: l.share, Wake: l.wake, Context: l.begin, OnEvent: l.event, Logger: l.logger,
		OnEnd: func(key run.Key, _ *agent.Result, _ error) { l.feed.Leave(key) },
	})
}

// manyRuns bounds what is counted at the start.
const manyRuns = 10_000

// count logs how many runs there are to continue.
func (l *local) count(ctx context.Context) {
	due, err := l.store.Count(ctx, record.Query{AllTenants: true, DueAt: time.Now(), Limit: manyRuns})
	if err != nil {
		return // who lists them says why
	}
	waiting, err := l.store.Count(ctx, record.Query{AllTenants: true, Status: run.StatusWaiting, Limit: manyRuns})
	if err == nil {
		l.logger.Info("the service drives runs", "due", due, "waiting", waiting)
	}
}

// begin makes the context of the work on a run, which drain ends. The given one ends with the work.
func (l *local) begin(ctx context.Context, key run.Key) context.Context {
	work, cancel := context.WithCancel(hosting.WithUser(ctx, key.Tenant))
	v := &visit{cancel, make(chan struct{}), map[string]bool{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.draining {
		cancel()
	}
	l.working[key] = v
	context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		close(v.over)
		if l.working[key] == v { // and not the next one
			delete(l.working, key)
		}
	})
	return work
}

// stopWait is how long a request waits for the end of the work on its run: as long as the tools need to end.
const stopWait = 10 * time.Second

// stop ends a run. The process that works on it is told; the run ends also if the caller has gone meanwhile.
func (l *local) stop(ctx context.Context, key run.Key) error {
	_, err := l.agent.Cancel(ctx, key) // which tells this process at once
	if held := err; errors.Is(held, record.ErrHeld) {
		ctx, cancel := context.WithTimeout(ctx, stopWait)
		defer cancel()
		if err = record.CancelRun(ctx, l.store, key); err != nil && ctx.Err() != nil {
			err = held
		}
	}
	if !errors.Is(err, record.ErrHeld) {
		l.feed.Leave(key)
	}
	return err
}
