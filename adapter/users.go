package adapter

import (
	"context"
	"slices"
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

// turns queues questions so that a user gets one at a time, in order. A user who does not
// answer delays no other user.
type turns struct {
	mu     sync.Mutex
	queues map[string][]chan struct{} // by user; the first has the turn and is closed
}

// take waits for the turn of a user. The caller must end it.
func (q *turns) take(ctx context.Context, user string) error {
	q.mu.Lock()
	if q.queues == nil {
		q.queues = map[string][]chan struct{}{}
	}
	turn := make(chan struct{})
	q.queues[user] = append(q.queues[user], turn)
	if len(q.queues[user]) == 1 {
		close(turn)
	}
	q.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		q.leave(user, turn)
		return ctx.Err()
	}
}

func (q *turns) end(user string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.passLocked(user)
}

// leave removes a question from the queue, and passes its turn on if it has it.
func (q *turns) leave(user string, turn chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queues[user][0] == turn {
		q.passLocked(user)
		return
	}
	q.queues[user] = slices.DeleteFunc(q.queues[user], func(c chan struct{}) bool { return c == turn })
}

// passLocked ends the turn of the first question and begins that of the next.
func (q *turns) passLocked(user string) {
	rest := slices.Delete(q.queues[user], 0, 1)
	if len(rest) == 0 {
		delete(q.queues, user)
		return
	}
	q.queues[user] = rest
	close(rest[0])
}
