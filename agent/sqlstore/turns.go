package sqlstore

import (
	"context"
	"slices"
	"sync"
)

// turns hands out the connections of a server's pool in the order of the requests, except for
// one that renewals have. A pool serves those who wait in any order, and among a thousand some
// would wait for longer than a lease.
type turns struct {
	mu      sync.Mutex
	free    int // connections that may be handed out, as last known
	busy    int
	waiting []chan struct{} // each receives once, when its turn has come
}

// acquire waits for a free connection. A pool without a bound, or with one connection, has no turns.
func (t *turns) acquire(ctx context.Context, s *database) (release func(), err error) {
	most := s.connections()
	if most < 2 {
		return func() {}, nil
	}
	release = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.busy--
		t.next()
	}
	mine := make(chan struct{}, 1)
	t.mu.Lock()
	t.free = most - 1
	t.waiting = append(t.waiting, mine)
	t.next()
	t.mu.Unlock()
	select {
	case <-mine:
		return release, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	i := slices.Index(t.waiting, mine)
	if i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
	t.mu.Unlock()
	if i < 0 {
		release()
	}
	return nil, ctx.Err()
}

// next wakes those whose turn has come. The caller holds the lock.
func (t *turns) next() {
	for len(t.waiting) > 0 && t.busy < t.free {
		t.waiting[0] <- struct{}{}
		t.waiting = t.waiting[1:]
		t.busy++
	}
}

// connections returns the bound of a server's pool, 0 if there is none. With two or more, one
// is reserved for renewals.
func (s *database) connections() int {
	if !s.d.remote {
		return 0
	}
	return s.db.Stats().MaxOpenConnections
}
