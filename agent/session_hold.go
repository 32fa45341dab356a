package agent

import (
	"context"
	"errors"
	"slices"

	"github.com/mcpchain/mcpchain/agent/run"
)

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
