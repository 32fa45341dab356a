package adapter

import (
	"context"
	"slices"
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

// turns lets one question at a time be put to a user, in the order in which they came. A user
// who does not answer delays no other.
type turns struct {
	mu     sync.Mutex
	queues map[string][]chan struct{} // by user; the first one has the turn and is closed
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

// leave takes a question out of the queue, and passes the turn on if it has come meanwhile.
func (q *turns) leave(user string, turn chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queues[user][0] == turn {
		q.passLocked(user)
		return
	}
	q.queues[user] = slices.DeleteFunc(q.queues[user], func(c chan struct{}) bool { return c == turn })
}

// passLocked ends the turn of the first question, and begins the next one's.
func (q *turns) passLocked(user string) {
	rest := slices.Delete(q.queues[user], 0, 1)
	if len(rest) == 0 {
		delete(q.queues, user)
		return
	}
	q.queues[user] = rest
	close(rest[0])
}
