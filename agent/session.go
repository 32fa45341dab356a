package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
)

// run drives the session for its outcome.
func (d *session) run(ctx context.Context) (*run.State, error) {
	l, err := d.load(ctx)
	if err != nil {
		return nil, fmt.Errorf("run agent: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(errOver) // a model may call back too late
	err = errGoexit
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = d.held(ctx, l, func(ctx context.Context) error {
			out := func(Event) error { return context.Cause(ctx) }
			return guarded("the loop", func() error { return d.drive(ctx, l, out) })
		})
	}()
	<-done
	if err != nil {
		err = fmt.Errorf("run agent: %w", err)
	}
	return l.state, err
}

// events drives the session on a goroutine of its own, which hands events to whoever
// ranges over them.
func (d *session) events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		l, err := d.load(ctx)
		if err != nil {
			yield(nil, fmt.Errorf("run agent: %w", err))
			return
		}
		ctx, cancel := context.WithCancelCause(ctx)
		events := make(chan Event) // never closed: a model may call back too late
		done := make(chan struct{})
		err = errGoexit
		go func() {
			defer close(done)
			err = d.held(ctx, l, func(ctx context.Context) error {
				return guarded("the loop", func() error { return d.drive(ctx, l, func(e Event) error { return hand(ctx, events, e) }) })
			})
		}()
		defer func() {
			cancel(errStopped)
			<-done
		}()
		for {
			select {
			case e := <-events:
				if !yield(e, nil) {
					return
				}
			case <-done:
				if err != nil {
					yield(nil, fmt.Errorf("run agent: %w", err))
				}
				return
			}
		}
	}
}

// hand gives an event to whoever ranges over the run.
func hand(ctx context.Context, events chan<- Event, e Event) error {
	select {
	case events <- e:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// held calls f while the lease of the run is renewed. If that fails the context of f ends.
func (d *session) held(ctx context.Context, l *loaded, f func(context.Context) error) error {
	if l.lease.Key.ID == "" {
		return f(ctx)
	}
	defer d.agent.release(l)
	ctx, cancel := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { d.renew(ctx, l.lease, cancel) })
	defer renewing.Wait()
	defer cancel(nil)
	return f(ctx)
}

// renewOnce renews a lease, in a part of its time: a store that hangs must not hide that
// the lease is over.
func (d *session) renewOnce(ctx context.Context, lease run.Lease) error {
	ttl := d.agent.opts.LeaseTTL
	ctx, cancel := context.WithTimeout(ctx, max(ttl/3, time.Millisecond))
	defer cancel()
	return d.agent.opts.Store.Renew(ctx, lease, ttl)
}

// renew renews a lease until the context ends.
func (d *session) renew(ctx context.Context, lease run.Lease, cancel context.CancelCauseFunc) {
	ttl := d.agent.opts.LeaseTTL
	tick := time.NewTicker(max(ttl/3, time.Millisecond))
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch err := d.renewOnce(ctx, lease); {
		case err == nil:
			last = time.Now()
		case ctx.Err() != nil:
			return
		case errors.Is(err, run.ErrConflict) || time.Since(last) > ttl:
			cancel(fmt.Errorf("the run is held by another process: %w", err))
			return
		}
	}
}
