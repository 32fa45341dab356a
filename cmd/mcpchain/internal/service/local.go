package service

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/internal/eventfeed"
)

// local drives the runs in this process.
type local struct {
	agent             *agent.Agent
	store             sqlstore.Store
	feed              *eventfeed.Feed
	parallel, perUser int           // maximum number of active runs, in all and of one user
	grace             time.Duration // for current calls when the process stops
	logger            *slog.Logger
	wake              chan struct{} // has a capacity of 1

	mu       sync.Mutex // guards the following fields
	working  map[run.Key]*activeRun
	draining bool // no run may continue here
}

// drive implements [engine].
func (l *local) drive(context.Context, run.Key) { l.wakeUp() }

// answer implements [engine].
func (l *local) answer(ctx context.Context, key run.Key, answers []run.Reply) error {
	err := l.agent.Reply(ctx, key, answers...)
	l.wakeUp()
	return err
}

// wakeUp has [agent.Recover] look for due runs now.
func (l *local) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// work implements [engine]. When ctx ends, no run begins here, and drain ends the active ones.
func (l *local) work(ctx context.Context) error {
	l.logger.Info("the service drives runs")
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
		Parallel:  l.parallel,
		PerTenant: l.perUser,
		Wake:      l.wake,
		Context:   l.runContext,
		OnEvent:   l.handleEvent,
		Logger:    l.logger,
		OnEnd:     func(key run.Key, _ *agent.Result, _ error) { l.feed.Stopped(key) },
	})
}

// runContext returns the context of the work on a run, which drain ends. ctx ends when the work has ended.
func (l *local) runContext(ctx context.Context, key run.Key) context.Context {
	work, cancel := context.WithCancel(hosting.WithUser(ctx, key.Tenant))
	a := &activeRun{cancel, make(chan struct{}), map[string]bool{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.draining {
		cancel()
	}
	l.working[key] = a
	context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		close(a.done)
		if l.working[key] == a { // and not later work on the run
			delete(l.working, key)
		}
	})
	return work
}

// stopWait is how long a request waits for the end of the work on its run.
const stopWait = 10 * time.Second

// stop implements [engine]. It waits at most stopWait for another process that works on the run. The run ends even if
// that takes longer, or if ctx ends first.
func (l *local) stop(ctx context.Context, key run.Key) error {
	_, err := l.agent.Cancel(ctx, key) // ends the run at once if no other process works on it
	if held := err; errors.Is(held, record.ErrHeld) {
		ctx, cancel := context.WithTimeout(ctx, stopWait)
		defer cancel()
		if err = record.CancelRun(ctx, l.store, key); err != nil && ctx.Err() != nil {
			err = held
		}
	}
	if !errors.Is(err, record.ErrHeld) {
		l.feed.Stopped(key)
	}
	return err
}
