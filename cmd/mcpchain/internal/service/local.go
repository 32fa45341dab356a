package service

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/internal/eventfeed"
)

// engine drives the runs of the store.
type engine interface {
	drive(ctx context.Context, key run.Key) // has a stored run driven, at once if possible

	answer(ctx context.Context, key run.Key, answers []run.Reply) error // all of them or none
	stop(ctx context.Context, key run.Key) error                        // may return before the run has ended
	work(ctx context.Context) error                                     // drives runs until the context ends
}

// local drives the runs in this process.
type local struct {
	agent             *agent.Agent
	store             sqlstore.Store
	feed              *eventfeed.Feed
	parallel, perUser int           // maximum number of active runs, in all and of one user
	grace             time.Duration // for current calls when the process stops
	logger            *slog.Logger
	wake              chan struct{} // has a value when runs may be due; room for one

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
		OnEnd:     func(key run.Key, _ *agent.Result, _ error) { l.feed.NotifyStopped(key) },
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

// stop implements [engine]. Until ctx ends it waits for another process that works on the run. The run ends even if that
// takes longer.
func (l *local) stop(ctx context.Context, key run.Key) error {
	_, err := l.agent.Cancel(ctx, key) // ends the run at once if no other process works on it
	if held := err; errors.Is(held, record.ErrHeld) {
		if err = record.CancelRun(ctx, l.store, key); err != nil && ctx.Err() != nil {
			err = held
		}
	}
	if !errors.Is(err, record.ErrHeld) {
		l.feed.NotifyStopped(key)
	}
	return err
}

// activeRun is a run that this process works on.
type activeRun struct {
	cancel context.CancelFunc
	done   chan struct{}
	calls  map[string]bool // current tool calls; guarded by local.mu
}

// handleEvent passes an event of a run to its readers, and tracks the current calls. A call begins after the event of
// its start, and its result is stored before the event of its end.
func (l *local) handleEvent(key run.Key, e agent.Event) {
	l.feed.Publish(key, e)
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.working[key]
	if a == nil {
		return
	}
	switch e := e.(type) {
	case *agent.ToolStart:
		a.calls[callName(e.EventInfo, e.Call)] = true
	case *agent.ToolEnd:
		delete(a.calls, callName(e.EventInfo, e.Call))
		l.endIfIdleLocked(a)
	}
}

// callName distinguishes the calls of a run and of its sub-agents.
func callName(m agent.EventInfo, c agent.Call) string {
	return strings.Join(append(slices.Clone(m.Path), c.ID), "\x00")
}

// endIfIdleLocked ends the work on a run if the process is stopping and the run has no current call.
func (l *local) endIfIdleLocked(a *activeRun) {
	if l.draining && len(a.calls) == 0 {
		a.cancel()
	}
}

// drain ends the work on all runs, and waits for its end. Current calls have the time -grace, because interrupted calls
// are in doubt.
func (l *local) drain() {
	l.mu.Lock()
	l.draining = true
	runs, calls := len(l.working), 0
	var doneChannels []chan struct{}
	for _, a := range l.working {
		calls += len(a.calls)
		doneChannels = append(doneChannels, a.done)
		l.endIfIdleLocked(a)
	}
	l.mu.Unlock()
	l.logger.Info("the service stops, and its runs continue later", "runs", runs, "calls under way", calls, "grace", l.grace)
	late := time.After(l.grace)
	for _, done := range doneChannels {
		select {
		case <-done:
		case <-late:
			l.warnOfCalls()
			return
		}
	}
}

// warnOfCalls logs the runs with current calls, which are interrupted.
func (l *local) warnOfCalls() {
	l.mu.Lock()
	interrupted := map[run.Key]int{}
	for key, a := range l.working {
		if len(a.calls) > 0 {
			interrupted[key] = len(a.calls)
		}
	}
	l.mu.Unlock()
	for key, n := range interrupted {
		l.logger.Warn("calls under way are interrupted, and in doubt", "run", key.ID, "tenant", key.Tenant, "calls", n)
	}
}
