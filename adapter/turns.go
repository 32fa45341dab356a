package adapter

import (
	"context"
	"sync"
)

// turns let a user be asked one question at a time. Questions that wait get their turn in order, as
// senders to a channel do. A user who does not answer delays no other user.
type turns struct {
	mu    sync.Mutex
	users map[string]*turn
}

// turn is the turn of one user.
type turn struct {
	slot  chan struct{} // has a token while a question has the turn
	count int           // questions that have the turn or wait for it
}

// acquire waits for the turn of a user, or for the end of ctx. The caller must call end, unless there is an error.
func (q *turns) acquire(ctx context.Context, user string) (end func(), err error) {
	q.mu.Lock()
	t := q.users[user]
	if t == nil {
		t = &turn{slot: make(chan struct{}, 1)}
		q.users[user] = t
	}
	t.count++
	q.mu.Unlock()
	select {
	case t.slot <- struct{}{}:
		return func() {
			<-t.slot
			q.release(user, t)
		}, nil
	case <-ctx.Done():
		q.release(user, t)
		return nil, ctx.Err()
	}
}

// release removes a question, and after the last one the user's turn.
func (q *turns) release(user string, t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.count--; t.count == 0 {
		delete(q.users, user)
	}
}
