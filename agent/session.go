package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// session drives a run in this process until it has ended or waits.
type session struct {
	agent  *Agent
	output *output // the structured output that the caller wants; nil: that of the run, if any

	// load returns the run: a new one, or one of the store. It is called once each time the
	// session is driven.
	load func(context.Context) (*loadedRun, error)

	unfinished string // text of a reply that was broken off; recorded if the run is cancelled

	// For the result:
	warnings     []*Warning
	window       *WindowUse // use of the window in the last model call
	storedStatus run.Status // status of the run in its store, if the last changes could not be stored
}

// run drives the session and returns the state.
func (s *session) run(ctx context.Context) (*ledger.State, error) {
	l, err := s.load(ctx)
	if err != nil {
		err = fmt.Errorf("run agent: %w", err)
		if waiting, ok := errors.AsType[*waitingError](err); ok {
			return waiting.state, err
		}
		return nil, err
	}
	if err := s.runWork(ctx, l, nil, s.drive); err != nil {
		return l.state, fmt.Errorf("run agent: %w", err)
	}
	return l.state, nil
}

// events drives the session and yields the events of the run.
func (s *session) events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		l, err := s.load(ctx)
		stopped := false // the loop was left
		if err == nil {
			err = s.runWork(ctx, l, func(e Event) bool {
				stopped = !yield(e, nil)
				return !stopped
			}, s.drive)
		}
		if err != nil && !stopped {
			yield(nil, fmt.Errorf("run agent: %w", err))
		}
	}
}

// work advances a loaded run. out gets its events; nil: nobody wants them.
type work func(ctx context.Context, l *loadedRun, out func(Event) error) error

// runWork calls work on a goroutine of its own while the lease of the run is renewed, so that a
// callback that ends its goroutine does not end the caller's. yield gets the events on the caller's
// goroutine, with their positions, unless it is nil; when it returns false the work is cancelled,
// and the error is errStopped. runWork returns when the work has ended.
func (s *session) runWork(ctx context.Context, l *loadedRun, yield func(Event) bool, do work) error {
	last := Position{Seq: l.state.Seq}
	ctx, cancel := context.WithCancelCause(ctx)
	events := make(chan Event) // never closed: a model may call back too late
	done := make(chan struct{})
	err := errGoexit
	go func() {
		defer close(done)
		err = s.withHold(ctx, l, func(ctx context.Context) error {
			var out func(Event) error
			if yield != nil {
				out = func(e Event) error { return sendEvent(ctx, events, e) }
			}
			return guard("the loop", func() error { return do(ctx, l, out) })
		})
	}()
	defer func() { // also if the loop body panics
		cancel(errStopped)
		<-done
	}()
	for {
		select {
		case e := <-events:
			if m := e.meta(); m.Seq == 0 { // it belongs to no record
				m.Seq, m.More = last.Seq, last.More
			}
			last = e.Position()
			if !yield(e) {
				return errStopped
			}
		case <-done:
			cancel(errOver) // the error for what calls back too late
			return err
		}
	}
}

// sendEvent passes an event to the goroutine of runWork, until the context ends.
func sendEvent(ctx context.Context, events chan<- Event, e Event) error {
	select {
	case events <- e:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// withHold calls f while this process holds the run. It repeats that if a reply came before the run
// was released, because its sender was told that the holder handles it.
func (s *session) withHold(ctx context.Context, l *loadedRun, f func(context.Context) error) error {
	if l.hold == nil {
		return f(ctx)
	}
	for {
		if err := s.withRenewal(ctx, l, f); err != nil {
			return err
		}
		reacquired := false
		err := guard("the store", func() error {
			reacquired = s.reacquire(ctx, l)
			return nil
		})
		if err != nil || !reacquired {
			return err
		}
	}
}

// reacquire acquires a waiting run again if it has a reply, unless another process has acquired it.
func (s *session) reacquire(ctx context.Context, l *loadedRun) (ok bool) {
	if l.state.Status != run.StatusWaiting {
		return false
	}
	log, err := s.agent.runs().LoadCurrent(ctx, l.hold.lease.Key)
	if err != nil || log.Head.Status != run.StatusWaiting {
		return false
	}
	isOpen := func(r run.Reply) bool { return slices.Contains(log.Head.QuestionIDs, r.Question) }
	if !slices.ContainsFunc(log.Replies, isOpen) {
		return false
	}
	next, err := s.agent.hold(ctx, l.hold.lease.Key)
	if err != nil {
		return false
	}
	*l = *next
	return true
}

// withRenewal calls f while the lease of the run is renewed, unless the run is to be cancelled. The
// context of f ends if the renewal fails, or once the run is to be cancelled. Afterwards the run is
// released.
func (s *session) withRenewal(ctx context.Context, l *loadedRun, f func(context.Context) error) error {
	defer l.hold.release()
	if l.isCancelled {
		return s.endAsRequested(ctx, l)
	}
	l.hold.host = ctx
	ctx, cancel := context.WithCancelCause(ctx)
	r := s.agent.recipe.renewer
	defer r.add(l.hold, cancel)()
	l.hold.renewer = r
	defer cancel(nil)
	err := f(ctx)
	if storeErr := l.hold.storeReplies(ctx); storeErr != nil {
		err = errors.Join(err, storeErr)
	}
	if errors.Is(context.Cause(ctx), errCancelRequested) {
		return s.endAsRequested(ctx, l)
	}
	return err
}
