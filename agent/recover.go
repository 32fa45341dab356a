package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// RecoverOptions configure [Recover]. Nil and the zero value are valid.
type RecoverOptions struct {
	// Parallel bounds the concurrently driven runs. Default 64; negative: no limit.
	Parallel int

	// PerTenant bounds the concurrently driven runs of each tenant. Others wait, and runs of other
	// tenants go first. Default: no limit.
	PerTenant int

	// PollInterval is how often to ask the store for due runs. Default 1 s.
	PollInterval time.Duration

	// UntilIdle makes Recover return when nothing is due any more, except runs that wait for another
	// attempt: they could not be driven here, or processes have died with them. A run whose process has
	// just died is due only after [Durable.LeaseTTL].
	UntilIdle bool

	// Wake makes Recover ask the store immediately, for example because a run was begun or replied to in
	// this process. Give it a capacity of 1, and drop a value if it is full. Default: none.
	Wake <-chan struct{}

	// Context returns the context for the work on a run, for example with the identity of its
	// tenant for [adapter.ContextHeaders]. ctx ends with that work. If the returned context
	// ends earlier, the run stops and remains due. Default: the context of Recover.
	Context func(ctx context.Context, key run.Key) context.Context

	// OnEvent is called with the events of all runs: concurrently, but in order for each run. If it
	// panics, the run is interrupted and tried again later. Default: none.
	OnEvent func(key run.Key, e Event)

	// OnEnd is called, concurrently, when the work on a run ends here: the run has ended or waits, or
	// the error says why it has failed ([ErrFailed]) or cannot continue. Default: none.
	OnEnd func(key run.Key, result *Result, err error)

	// Logger logs failures, at level Info the runs that are taken over because a process has
	// left them, and at level Debug the runs whose context was cancelled. Default: [slog.Default].
	Logger *slog.Logger
}

// Recover drives the due runs of a store in this process: runs whose process has died, that have a
// reply, or that have waited long enough. When the context ends it stops its runs, waits for them, and
// returns the context's error. agents must have different names and the store as their Durable.Store;
// runs of other agents are ignored. A run that fails stays as it is recorded. One that cannot be driven,
// because its store or lease fails, is tried again after waits that double up to a minute.
func Recover(ctx context.Context, store record.Store, agents []*Agent, opts *RecoverOptions) error {
	o, err := opts.withDefaults()
	if err != nil {
		return err
	}
	if err := nilError("store", store); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	if !reflect.ValueOf(store).Comparable() {
		return fmt.Errorf("recover: store is a %T, which cannot be compared with those of the agents: use a pointer", store)
	}
	named := map[string]*Agent{}
	for i, a := range agents {
		if a == nil {
			return fmt.Errorf("recover: agents[%d] is nil: check the error of its constructor", i)
		}
		if a.recipe.opts.Durable.Store != store {
			return fmt.Errorf("recover: agent %q has another Options.Durable.Store", a.recipe.opts.Name)
		}
		if named[a.recipe.opts.Name] != nil {
			return fmt.Errorf("recover: two agents have the name %q", a.recipe.opts.Name)
		}
		named[a.recipe.opts.Name] = a
	}
	r := &recovery{
		store: store, agents: named, opts: o, gate: newGate(o.PerTenant),
		room: make(chan struct{}, o.Parallel), damaged: map[string]bool{},
	}
	defer r.runs.Wait()
	return r.loop(ctx)
}

// withDefaults returns a copy of the options with their defaults.
func (o *RecoverOptions) withDefaults() (RecoverOptions, error) {
	var out RecoverOptions
	if o != nil {
		out = *o
	}
	if out.PollInterval < 0 {
		return out, fmt.Errorf("recover: PollInterval is %v; give a positive duration, or 0 for %v", out.PollInterval, defaultEvery)
	}
	out.PollInterval = cmp.Or(out.PollInterval, defaultEvery)
	out.Parallel = cmp.Or(out.Parallel, defaultRuns)
	if out.Parallel < 0 {
		out.Parallel = math.MaxInt
	}
	out.Logger = cmp.Or(out.Logger, slog.Default())
	return out, nil
}

// The defaults of RecoverOptions.
const (
	defaultEvery = time.Second
	defaultRuns  = 64 // driven concurrently
)

// recovery is a call of Recover.
type recovery struct {
	store  record.Store
	agents map[string]*Agent // by name
	opts   RecoverOptions
	gate   *gate

	room    chan struct{}   // an element for each driven run, at most Options.Parallel
	runs    sync.WaitGroup  // the goroutines that drive runs
	damaged map[string]bool // errors of unreadable runs that were logged; used by the goroutine of Recover
}

// loop starts what is due until the context ends, or nothing is due with UntilIdle.
func (r *recovery) loop(ctx context.Context) error {
	wake := r.opts.Wake
	listFailed := false
	for {
		started, err := r.pass(ctx)
		if r.opts.UntilIdle && started == 0 && err == nil {
			r.runs.Wait() // they may have become due again
			started, err = r.pass(ctx)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case err != nil && !listFailed:
			r.opts.Logger.Warn("the runs that are due cannot be listed", "error", err)
		case err == nil && listFailed:
			r.opts.Logger.Info("the runs that are due can be listed again")
		}
		listFailed = err != nil
		if r.opts.UntilIdle && started == 0 && err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(r.opts.PollInterval):
		case <-r.gate.freed:
			if err := r.collectEnds(ctx); err != nil {
				return err
			}
		case _, open := <-wake:
			if !open {
				wake = nil
			}
		}
	}
}

// collectEnds waits while other runs may end, because one pass lists everything due.
func (r *recovery) collectEnds(ctx context.Context) error {
	if err := backoff.Sleep(ctx, min(r.opts.PollInterval, collectTime)); err != nil {
		return ctx.Err()
	}
	select {
	case <-r.gate.freed:
	default:
	}
	return nil
}

// collectTime is how long ends of runs are collected before other runs take their place.
const collectTime = 20 * time.Millisecond

// pass starts what is due, and waits for room before each. With an error, what it has started continues.
func (r *recovery) pass(ctx context.Context) (started int, err error) {
	r.gate.prune()
	q := record.Query{AllTenants: true, Agents: slices.Sorted(maps.Keys(r.agents)), DueAt: time.Now()}
	for head, err := range record.SkipDamaged(r.store.List(ctx, q), r.logDamage) {
		if err != nil {
			return started, err
		}
		a := r.agents[head.Agent]
		if a == nil || !r.gate.start(head) {
			continue
		}
		select {
		case r.room <- struct{}{}:
		case <-ctx.Done():
			return started, ctx.Err()
		}
		started++
		r.runs.Go(func() {
			_ = workThenEnd(func() error {
				return guard("driving the run", func() error { return r.drive(ctx, a, head.Key) })
			}, func(err error) {
				r.finish(head.Key, err)
				<-r.room
			})
		})
	}
	return started, nil
}

// logDamage logs once that a run cannot be read.
func (r *recovery) logDamage(key run.Key, err error) {
	if text := fmt.Sprint(key, err); !r.damaged[text] && len(r.damaged) < maxDamaged {
		r.damaged[text] = true
		r.opts.Logger.Error("a run cannot be read, and is left alone", "run", key.ID, "tenant", key.Tenant, "error", err)
	}
}

// maxDamaged bounds the unreadable runs that are logged, because they are remembered.
const maxDamaged = 1000

// drive works on a run until it has ended or waits, and calls OnEnd, unless the run could not be
// loaded or another process has ended it.
func (r *recovery) drive(ctx context.Context, a *Agent, key run.Key) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.opts.Context != nil {
		ctx = r.opts.Context(ctx, key)
	}
	defer func() {
		if err != nil && errors.Is(ctx.Err(), context.Canceled) && errors.Is(err, context.Canceled) {
			err = &failure{errInterrupted, err}
		}
	}()
	s := a.resume(key, nil)
	l, err := s.load(ctx)
	if err != nil {
		return fmt.Errorf("run agent: %w", err)
	}
	if l.state.Status.Ended() {
		l.hold.release()
		return errNotDue
	}
	r.logTakeover(l.state)
	err = s.runWork(ctx, l, func(e Event) bool {
		if r.opts.OnEvent != nil {
			r.opts.OnEvent(key, e)
		}
		return true
	}, s.drive)
	if err != nil {
		err = fmt.Errorf("run agent: %w", err)
	}
	if r.opts.OnEnd != nil {
		r.opts.OnEnd(key, s.result(l.state), err)
	}
	return err
}

var (
	errNotDue      = errors.New("run has ended")                // by another process, since it was listed
	errInterrupted = errors.New("host has ended work on a run") // see failure
)

// logTakeover logs a run that another process has left unfinished, and its calls in progress.
func (r *recovery) logTakeover(s *ledger.State) {
	hasBegun := s.Takeovers > 0 || s.Phase == ledger.PhaseCalls || s.SinceInput().Turns > 0
	if s.Status != run.StatusRunning || !hasBegun {
		return
	}
	sent := 0
	for _, c := range s.Calls {
		if c.At == ledger.CallSent {
			sent++
		}
	}
	r.opts.Logger.Info("a run was taken over", "run", s.ID, "tenant", s.Tenant, "turn", s.Turn, "calls", sent)
}

// finish logs how the work on a run has ended, and lets the run be tried again later if it could
// not be driven.
func (r *recovery) finish(key run.Key, err error) {
	failed := err != nil && !isSettled(err)
	switch {
	case errors.Is(err, ErrFailed):
		r.opts.Logger.Warn("a run has failed", "run", key.ID, "tenant", key.Tenant, "error", err)
	case failed && errors.Is(err, errInterrupted):
		r.opts.Logger.Debug("a run cannot continue", "run", key.ID, "tenant", key.Tenant, "error", err)
	case failed:
		r.opts.Logger.Warn("a run cannot continue", "run", key.ID, "tenant", key.Tenant, "error", err)
	}
	r.gate.end(key, failed)
}

// isSettled reports whether an error of the work on a run means that the run need not be tried
// again later: it has ended, was deleted, or another process works on it.
func isSettled(err error) bool {
	return isAny(err, record.ErrHeld, record.ErrNotFound, ErrFailed, ErrCancelled, errNotDue)
}
