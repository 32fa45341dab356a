package sqlstore

import (
	"context"
	"slices"
	"sync"
)

// turns hands the connections of a server's pool out in the order in which they are asked for, but one, which renewals have.
// A pool gives a connection to any of those who wait: among a thousand some would wait for longer than a lease.
type turns struct {
	mu      sync.Mutex
	busy    int
	waiting []chan struct{} // each receives once, when its turn has come
}

// take waits for a connection to be free. A pool of no bound or of one connection has no turns.
func (t *turns) take(ctx context.Context, s *Store) (give func(), err error) {
	if !s.reserves() {
		return func() {}, nil
	}
	give = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.busy--
		t.next(s)
	}
	mine := make(chan struct{}, 1)
	t.mu.Lock()
	t.waiting = append(t.waiting, mine)
	t.next(s)
	t.mu.Unlock()
	select {
	case <-mine:
		return give, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	i := slices.Index(t.waiting, mine)
	if i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
	t.mu.Unlock()
	if i < 0 {
		give()
	}
	return nil, ctx.Err()
}

// next lets those continue whose turn has come. Who calls it holds the lock.
func (t *turns) next(s *Store) {
	free := s.db.Stats().MaxOpenConnections - 1 - t.busy
	for len(t.waiting) > 0 && (free > 0 || t.busy == 0) {
		t.waiting[0] <- struct{}{}
		t.waiting = t.waiting[1:]
		t.busy, free = t.busy+1, free-1
	}
}

// reserves reports whether one connection is kept for renewals.
func (s *Store) reserves() bool {
	return s.d.remote && s.db.Stats().MaxOpenConnections > 1
}
