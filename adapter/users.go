package adapter

import (
	"context"
	"sync"
)

// userOf returns the user of a call, "" without Options.User. If that returns "", known is
// false and nothing is remembered.
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

// turns let a user be asked one question at a time. Questions that wait get their turn in order, as
// senders to a channel do. A user who does not answer delays no other user.
type turns struct {
	mu    sync.Mutex
	users map[string]*turn
}

// turn is the turn of one user.
type turn struct {
	taken     chan struct{} // has an element while a question has the turn
	questions int           // that have the turn or wait for it
}

// take waits for the turn of a user, or for the end of ctx. The caller must call end, unless there is
// an error.
func (q *turns) take(ctx context.Context, user string) (end func(), err error) {
	q.mu.Lock()
	t := q.users[user]
	if t == nil {
		t = &turn{taken: make(chan struct{}, 1)}
		q.users[user] = t
	}
	t.questions++
	q.mu.Unlock()
	select {
	case t.taken <- struct{}{}:
		return func() {
			<-t.taken
			q.leave(user, t)
		}, nil
	case <-ctx.Done():
		q.leave(user, t)
		return nil, ctx.Err()
	}
}

// leave forgets a question, and the user's turn after the last one.
func (q *turns) leave(user string, t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.questions--; t.questions == 0 {
		delete(q.users, user)
	}
}
