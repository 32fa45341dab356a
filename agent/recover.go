package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// RecoverOptions configure [Recover]. Nil and the zero value are valid.
type RecoverOptions struct {
	// Parallel bounds the runs that are driven at the same time. Default 64; negative: no bound.
	Parallel int

	// Share bounds the runs of each tenant that are driven at the same time: further ones wait,
	// and runs of other tenants go before them. Default: no bound.
	Share int

	// Every is how often the store is asked what is due. Default 1 s.
	Every time.Duration

	// Once has Recover return when nothing is due any more. A run whose process has just
	// crashed is due only after [Durable.LeaseTTL].
	Once bool

	// Wake has the store asked at once, for example because a run has begun in this process or
	// has an answer. Give it a capacity of 1, and leave out a value that finds it full.
	// Default: none.
	Wake <-chan struct{}

	// Context makes the context of the work on a run, for example with the identity of its
	// tenant for [adapter.ContextHeaders]. The given one ends with that work. If the context ends
	// before, the run stops and stays due. Default: the context of Recover.
	Context func(ctx context.Context, key run.Key) context.Context

	// Tenant selects the runs of one tenant; nil selects all.
	Tenant *string

	// OnEvent gets the events of all runs, on several goroutines. If it panics, the run cannot be
	// driven for the time being. Default: none.
	OnEvent func(key run.Key, e Event)

	// OnEnd gets what came of the work on a run here, on several goroutines: the run is over
	// or waits, or the error says why it has failed ([ErrFailed]) or cannot go on.
	// Default: none.
	OnEnd func(key run.Key, result *Result, err error)

	// Logger gets what fails, and at level Debug the runs whose context has been cancelled. Default: [slog.Default].
	Logger *slog.Logger
}

// Recover drives, in this process, the runs of a store that are due: whose process has
// ended, that have an answer, or that have waited long enough. It returns when the context
// has ended and its runs have stopped, with the context's error. The agents are the agents of the
// store, by their names; runs of other agents are left alone. A run that fails stays as it is
// recorded; one that cannot be driven, because its store or its lease fails, is tried
// again after a wait that doubles up to a minute.
func Recover(ctx context.Context, store record.Store, agents []*Agent, o *RecoverOptions) error {
	r := &recovery{store: store, agents: map[string]*Agent{}, busy: map[run.Key]bool{}, tenants: map[string]int{}, refused: map[string]bool{}, retry: map[run.Key]wait{}, damaged: map[string]bool{}, freed: make(chan struct{}, 1)}
	if o != nil {
		r.opts = *o
	}
	r.opts.Parallel, r.opts.Every = cmp.Or(r.opts.Parallel, 64), cmp.Or(r.opts.Every, time.Second)
	r.opts.Logger = cmp.Or(r.opts.Logger, slog.Default())
	for _, a := range agents {
		if a.opts.Durable.Store != store {
			return fmt.Errorf("recover: agent %q has another Options.Durable.Store", a.opts.Name)
		}
		if r.agents[a.opts.Name] != nil {
			return fmt.Errorf("recover: two agents have the name %q", a.opts.Name)
		}
		r.agents[a.opts.Name] = a
	}
	if r.opts.Every < 0 {
		return fmt.Errorf("recover: Every is %v; give a positive duration, or 0 for 1 s", r.opts.Every)
	}
	if r.opts.Parallel < 0 {
		r.opts.Parallel = math.MaxInt
	}
	r.room = make(chan struct{}, r.opts.Parallel)
	defer r.runs.Wait()
	return r.loop(ctx)
}

// recovery drives the runs of a store.
type recovery struct {
	store  record.Store
	agents map[string]*Agent
	opts   RecoverOptions
	room   chan struct{}
	freed  chan struct{} // a run has ended for which another of its tenant waits; has room for one
	runs   sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	busy    map[run.Key]bool
	tenants map[string]int  // runs under way, if they are bounded
	refused map[string]bool // tenants that had their share when another run of them was due
	retry   map[run.Key]wait
	damaged map[string]bool // runs that cannot be read, which have been logged
	suspect run.Key         // runs alone since
	alone   time.Time
}

// wait is how long a run that could not be driven is left alone.
type wait struct {
	until time.Time
	last  time.Duration
}

// The waits for a run that cannot be driven.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// betweenPasses is how long runs that end are gathered before others take their place.
const betweenPasses = 20 * time.Millisecond

func (r *recovery) loop(ctx context.Context) error {
	wake := r.opts.Wake
	for {
		started, err := r.pass(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			r.opts.Logger.Warn("the runs that are due cannot be listed", "error", err)
		case r.opts.Once && started == 0:
			r.runs.Wait()
			if n, err := r.pass(ctx); n == 0 {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(r.opts.Every):
		case <-r.freed:
			select { // other runs end meanwhile: a pass lists all that is due
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(min(r.opts.Every, betweenPasses)):
			}
			select {
			case <-r.freed:
			default:
			}
		case _, open := <-wake:
			if !open {
				wake = nil
			}
		}
	}
}

// pass starts what is due.
func (r *recovery) pass(ctx context.Context) (started int, err error) {
	r.prune()
	q := record.Query{AllTenants: r.opts.Tenant == nil, Agents: slices.Sorted(maps.Keys(r.agents)), DueAt: time.Now()}
	if r.opts.Tenant != nil {
		q.Tenant = *r.opts.Tenant
	}
	for head, err := range record.Readable(r.store.List(ctx, q), r.logDamage) {
		if err != nil {
			return started, err
		}
		a := r.agents[head.Agent]
		if a == nil || !r.take(head) {
			continue
		}
		select {
		case r.room <- struct{}{}:
		case <-ctx.Done():
			return started, ctx.Err()
		}
		started++
		r.runs.Go(func() {
			err := errGoexit
			defer func() {
				r.settle(head.Key, err)
				<-r.room
			}()
			err = guarded("driving the run", func() error { return r.drive(ctx, a, head.Key) })
		})
	}
	return started, nil
}

// logDamage logs once that a run cannot be read.
func (r *recovery) logDamage(d *record.DamagedError) {
	r.mu.Lock()
	text := d.Error()
	told := r.damaged[text] || len(r.damaged) == maxDamaged
	if !told {
		r.damaged[text] = true
	}
	r.mu.Unlock()
	if !told {
		r.opts.Logger.Error("a run cannot be read, and is left alone", "run", d.Key.ID, "tenant", d.Key.Tenant, "error", d.Err)
	}
}

// maxDamaged bounds the damaged runs that are logged.
const maxDamaged = 1000

// A run that processes have ended with may be what ends them: it is left alone for a time that grows, and begins
// alone, so that other runs do not end with it.
const (
	suspicious = 2               // takeovers without progress
	lastDoubt  = 5 * time.Minute // the longest time that it is left alone
	aloneTime  = 30 * time.Second
	aloneWait  = time.Minute // how long it waits until this process works on nothing else
)

// suspicion is from when a run may be taken up that processes have ended with.
func suspicion(head run.Head) time.Time {
	if head.Takeovers < suspicious {
		return time.Time{}
	}
	return head.Updated.Add(min(time.Second<<min(head.Takeovers-suspicious, 20), lastDoubt))
}

// takeAloneLocked reports whether a run may begin beside the others.
func (r *recovery) takeAloneLocked(head run.Head, now time.Time) bool {
	if from := suspicion(head); !from.IsZero() {
		if now.Before(from) || len(r.busy) > 0 && now.Before(from.Add(aloneWait)) {
			return false
		}
		r.suspect, r.alone = head.Key, now
		return true
	}
	return r.alone.IsZero() || now.Sub(r.alone) > aloneTime
}

// take reports whether no goroutine here drives the run, it has not failed just now, it may begin beside the others,
// and its tenant has no more than its share.
func (r *recovery) take(head run.Head) bool {
	key, now := head.Key, time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy[key] || now.Before(r.retry[key].until) || !r.takeAloneLocked(head, now) {
		return false
	}
	if r.opts.Share > 0 {
		if r.tenants[key.Tenant] >= r.opts.Share {
			r.refused[key.Tenant] = true
			return false
		}
		r.tenants[key.Tenant]++
	}
	r.busy[key] = true
	return true
}

func (r *recovery) drive(ctx context.Context, a *Agent, key run.Key) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.opts.Context != nil {
		ctx = r.opts.Context(ctx, key)
	}
	defer func() {
		if err != nil && errors.Is(ctx.Err(), context.Canceled) && errors.Is(err, context.Canceled) {
			err = &interruptedError{err}
		}
	}()
	var l *loaded
	d := a.resume(key, nil)
	load := d.load
	d.load = func(ctx context.Context) (_ *loaded, err error) {
		l, err = load(ctx)
		return l, err
	}
	err = func() error {
		for e, err := range d.events(ctx) {
			if err != nil {
				return err
			}
			if r.opts.OnEvent != nil {
				r.opts.OnEvent(key, e)
			}
		}
		return nil
	}()
	if r.opts.OnEnd != nil && l != nil {
		result := resultOf(l.state)
		result.Warnings, result.Window = d.warnings, d.window
		r.opts.OnEnd(key, result, err)
	}
	return err
}

// interruptedError says that the host has ended the work on a run.
type interruptedError struct{ err error }

func (e *interruptedError) Error() string { return e.err.Error() }
func (e *interruptedError) Unwrap() error { return e.err }

// settle frees a run, and leaves it alone for a while if it could not be driven.
func (r *recovery) settle(key run.Key, err error) {
	if errors.Is(err, ErrFailed) {
		r.opts.Logger.Warn("a run has failed", "run", key.ID, "tenant", key.Tenant, "error", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.busy, key)
	if r.suspect == key {
		r.suspect, r.alone = run.Key{}, time.Time{}
	}
	r.leaveLocked(key.Tenant)
	if err == nil || errors.Is(err, record.ErrHeld) || errors.Is(err, record.ErrNotFound) || errors.Is(err, ErrFailed) || errors.Is(err, ErrCancelled) {
		delete(r.retry, key)
		return
	}
	last := r.retry[key].last
	next := min(max(2*last, firstRetry), lastRetry)
	r.retry[key] = wait{time.Now().Add(next), next}
	level := slog.LevelWarn
	if _, ended := errors.AsType[*interruptedError](err); ended {
		level = slog.LevelDebug
	}
	r.opts.Logger.Log(context.Background(), level, "a run cannot go on", "run", key.ID, "tenant", key.Tenant, "error", err)
}

// leaveLocked counts the end of a run, and has the next one of its tenant looked for if one waits.
func (r *recovery) leaveLocked(tenant string) {
	if r.opts.Share <= 0 {
		return
	}
	if r.refused[tenant] {
		delete(r.refused, tenant) // the next pass notes the others
		select {
		case r.freed <- struct{}{}:
		default:
		}
	}
	if r.tenants[tenant]--; r.tenants[tenant] == 0 {
		delete(r.tenants, tenant)
	}
}

// prune forgets waits that were over a while ago: others have finished or deleted the runs. The pass
// that follows finds which tenants have more runs than their share.
func (r *recovery) prune() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.refused)
	maps.DeleteFunc(r.retry, func(_ run.Key, w wait) bool { return time.Since(w.until) > lastRetry })
}
