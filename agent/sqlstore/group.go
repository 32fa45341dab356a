package sqlstore

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// maxGroup is the maximum number of changes in one transaction.
const maxGroup = 256

// group commits concurrent changes in one transaction, because a sync of the disk takes as long
// for many changes as for one. It has no goroutine: the first caller commits, and what arrives
// meanwhile waits for the next commit, which one of the waiting callers makes.
type group struct {
	commit func(context.Context, []*waiter)

	mu       sync.Mutex
	queue    []*waiter
	isActive bool // a caller commits
}

// waiter is a caller whose change waits for its commit.
type waiter struct {
	leasesOnly bool // it changes only leases
	change     change
	err        error

	turn chan bool // receives once: true to commit the head of the queue, false when the change is done
}

// do makes a change. If the context ends, it takes the change out of the queue; once the commit
// has begun, it waits for the outcome.
func (g *group) do(ctx context.Context, leasesOnly bool, c change) error {
	w := &waiter{leasesOnly: leasesOnly, change: c, turn: make(chan bool, 1)}
	g.mu.Lock()
	g.queue = append(g.queue, w)
	if !g.isActive {
		g.isActive = true
		w.turn <- true
	}
	g.mu.Unlock()

	var mustCommit bool
	select {
	case mustCommit = <-w.turn:
	case <-ctx.Done():
		if g.withdraw(w) {
			return ctx.Err()
		}
		mustCommit = <-w.turn
	}
	if mustCommit {
		g.commitQueue(ctx, w)
	}
	return w.err
}

// withdraw removes a change from the queue, unless it is being committed or its caller has been
// told to commit.
func (g *group) withdraw(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.queue, w)
	if i < 0 || len(w.turn) > 0 {
		return false
	}
	g.queue = slices.Delete(g.queue, i, i+1)
	return true
}

// commitQueue commits the head of the queue, which begins with the caller's own change, and
// passes the turn.
func (g *group) commitQueue(ctx context.Context, own *waiter) {
	g.mu.Lock()
	n := min(len(g.queue), maxGroup)
	batch := slices.Clone(g.queue[:n])
	g.queue = slices.Delete(g.queue, 0, n)
	g.mu.Unlock()
	for _, other := range batch {
		other.err = errPanicked
	}
	defer g.passTurn(batch, own)
	g.commit(context.WithoutCancel(ctx), batch)
}

// errPanicked is the error of changes whose commit has panicked, for example in the driver.
var errPanicked = errors.New("commit panicked")

// passTurn tells the callers of a batch that it is done, and the next one to commit.
func (g *group) passTurn(batch []*waiter, own *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, other := range batch {
		if other != own {
			other.turn <- false
		}
	}
	g.isActive = len(g.queue) > 0
	if g.isActive {
		g.queue[0].turn <- true
	}
}

// commit makes changes in one transaction, and sets their errors. If one of them fails, each gets a
// transaction of its own, so that only that one fails.
func (s *database) commit(ctx context.Context, batch []*waiter) {
	if len(batch) == 1 {
		batch[0].err = s.once(ctx, batch[0].leasesOnly, batch[0].change)
		return
	}
	err := s.commitTogether(ctx, batch)
	for _, w := range batch {
		switch {
		case errors.Is(err, errChangeFailed):
			w.err = s.once(ctx, w.leasesOnly, w.change)
		case err != nil:
			w.err = err
		}
	}
}

// errChangeFailed is the error of a transaction that was rolled back because one of its changes failed.
var errChangeFailed = errors.New("change failed")

// commitTogether makes changes in one transaction. A change that is refused has its error, and the others
// are committed. After any other error none is committed; if the commit itself failed, it is unknown.
func (s *database) commitTogether(ctx context.Context, batch []*waiter) error {
	hasOther := slices.ContainsFunc(batch, func(w *waiter) bool { return !w.leasesOnly })
	t, err := s.begin(ctx, !hasOther)
	if err != nil {
		return err
	}
	for _, w := range batch {
		w.err = w.change(ctx, t)
		if _, isRefusal := errors.AsType[*refusal](w.err); w.err != nil && !isRefusal {
			t.rollback()
			return errChangeFailed
		}
	}
	return t.commit()
}
