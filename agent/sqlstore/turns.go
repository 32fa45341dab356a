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
	shared  int             // number of connections that may be handed out, as last known
	busy    int             // number of connections that were handed out
	waiting []chan struct{} // each receives once, when its turn has come
}

// acquire waits for a free connection. A pool without a bound, or with one connection, has no turns.
func (t *turns) acquire(ctx context.Context, s *database) (release func(), err error) {
	limit := s.maxConnections()
	if limit < 2 {
		return func() {}, nil
	}
	release = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.busy--
		t.nextLocked()
	}
	mine := make(chan struct{}, 1)
	t.mu.Lock()
	t.shared = limit - 1
	t.waiting = append(t.waiting, mine)
	t.nextLocked()
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

func (t *turns) nextLocked() {
	for len(t.waiting) > 0 && t.busy < t.shared {
		t.waiting[0] <- struct{}{}
		t.waiting = t.waiting[1:]
		t.busy++
	}
}

// maxConnections returns the bound of a server's pool, 0 if there is none. With two or more, one
// is reserved for renewals.
func (s *database) maxConnections() int {
	if !s.d.remote {
		return 0
	}
	return s.db.Stats().MaxOpenConnections
}
