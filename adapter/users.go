package adapter

import (
	"context"
	"sync"
)

// userOf names the user of a call, "" if the host has no Options.User. If that
// cannot name the user, known is false, and nothing is remembered.
func (a *approvals) userOf(ctx context.Context) (user string, known bool) {
	if a.user == nil {
		return "", true
	}
	if err := guarded(a.log, "Options.User", func() error { user = a.user(ctx); return nil }); err != nil {
		a.log.Error("a call has no user", "error", err)
		return "", false
	}
	return user, user != ""
}

// turns lets one question at a time be put to a user. A user who does not answer
// delays no other.
type turns struct {
	mu    sync.Mutex
	taken map[string]chan struct{} // by user; closed when the turn ends
}

// take waits for the turn of a user. The caller must end it.
func (q *turns) take(ctx context.Context, user string) error {
	for {
		q.mu.Lock()
		busy := q.taken[user]
		if busy == nil {
			if q.taken == nil {
				q.taken = map[string]chan struct{}{}
			}
			q.taken[user] = make(chan struct{})
			q.mu.Unlock()
			return nil
		}
		q.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (q *turns) end(user string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	close(q.taken[user])
	delete(q.taken, user)
}
