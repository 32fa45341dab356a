package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/examples/internal/feed"
)

// local drives the runs in this process.
type local struct {
	agent           *agent.Agent
	store           *sqlstore.Store
	feed            *feed.Feed
	parallel, share int           // runs at the same time, and of one user
	grace           time.Duration // of calls when the process stops
	wishes          *wishes
	logger          *slog.Logger
	wake            chan struct{} // has room for one

	mu       sync.Mutex // guards the fields below
	working  map[run.Key]*visit
	stopping map[run.Key]*stopping
	draining bool // no run is to go on here
}

// stopping is the end of a run, for all requests that want it.
type stopping struct {
	over chan struct{}
	err  error // once it is over
}

func (l *local) start(ctx context.Context, user, id, input string) (run.Key, error) {
	key, err := l.agent.Begin(ctx, agent.Text(input), named(user, id)...)
	l.due()
	return key, err
}

func (l *local) answer(ctx context.Context, key run.Key, answers []run.Answer) error {
	err := l.agent.Answer(ctx, key, answers...)
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
	listening.Go(func() { l.wishes.listen(ctx, l.interrupt, l.logger) })
	return agent.Recover(ctx, l.store, []*agent.Agent{l.agent}, &agent.RecoverOptions{
		Parallel: l.parallel, Share: l.share, Wake: l.wake, Context: l.begin, OnEvent: l.event, Logger: l.logger,
		OnEnd: func(key run.Key, _ *agent.Result, _ error) { l.feed.Leave(key) },
	})
}

// manyRuns bounds what is counted at the start.
const manyRuns = 10_000

// count logs which runs there are to go on with.
func (l *local) count(ctx context.Context) {
	due, err := l.store.Count(ctx, run.Query{AllTenants: true, DueAt: time.Now(), Limit: manyRuns})
	if err != nil {
		return // who lists them says why
	}
	waiting, err := l.store.Count(ctx, run.Query{AllTenants: true, Status: run.StatusWaiting, Limit: manyRuns})
	if err == nil {
		l.logger.Info("the service drives runs", "due", due, "waiting", waiting)
	}
}

// begin makes the context of the work on a run, which stop ends. The given one ends with the work.
func (l *local) begin(ctx context.Context, key run.Key) context.Context {
	work, cancel := context.WithCancel(withUser(ctx, key.Tenant))
	v := &visit{cancel, make(chan struct{}), map[string]bool{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopping[key] != nil || l.draining {
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

// interrupt ends the work on a run in this process, if there is any. The channel is closed when it
// has ended.
func (l *local) interrupt(key run.Key) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v := l.working[key]; v != nil {
		v.cancel()
		return v.over
	}
	none := make(chan struct{})
	close(none)
	return none
}

// stop ends the work on a run, and then the run, once for all who want it.
func (l *local) stop(ctx context.Context, key run.Key) error {
	l.mu.Lock()
	s := l.stopping[key]
	first := s == nil
	if first {
		s = &stopping{over: make(chan struct{}), err: errors.New("stop: panicked")}
		l.stopping[key] = s
	}
	l.mu.Unlock()
	if !first {
		select {
		case <-s.over:
			return s.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.stopping, key)
		close(s.over)
	}()
	s.err = l.end(context.WithoutCancel(ctx), key)
	return s.err
}

// Stopping a run takes as long as its tools need to end.
const (
	stopWait = 10 * time.Second
	firstTry = 10 * time.Millisecond // and twice as long after each
	lastTry  = time.Second
	dropWait = 2 * time.Second
)

// end ends the work on a run here, or has another process end it, and then the run. What it asks of other
// processes does not outlive it.
func (l *local) end(ctx context.Context, key run.Key) error {
	ctx, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	wished := false
	defer func() {
		if wished {
			l.unwish(ctx, key)
		}
	}()
	for try := firstTry; ; try = min(2*try, lastTry) {
		select {
		case <-l.interrupt(key):
		case <-ctx.Done():
			return fmt.Errorf("stop run %q: its tools have not ended: %w", key.ID, run.ErrHeld)
		}
		_, err := l.agent.Cancel(ctx, key)
		if !errors.Is(err, run.ErrHeld) {
			l.feed.Leave(key)
			return err
		}
		wished = true
		if err := l.wishes.add(ctx, key); err != nil {
			return err
		}
		select {
		case <-time.After(try):
		case <-ctx.Done():
			return err
		}
	}
}

// unwish takes back what was asked of other processes.
func (l *local) unwish(ctx context.Context, key run.Key) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropWait)
	defer cancel()
	if err := l.wishes.drop(ctx, key); err != nil {
		l.logger.Warn("the wish that a run stops cannot be taken back: it ends by itself", "run", key.ID, "tenant", key.Tenant, "error", err)
	}
}
