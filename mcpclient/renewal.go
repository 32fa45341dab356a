package mcpclient

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/lifecycle"
)

// renewals begin a session or a connection in the place of one that was lost: one at a
// time, for all who wait for it.
type renewals struct {
	life *lifecycle.Lifecycle
	dead func() bool // the connection in use has ended

	current atomic.Pointer[renewal] // under way, or nil; changed with mu held

	mu    sync.Mutex
	begun time.Time // when the last one ended
}

// renewal is the beginning of one session or connection.
type renewal struct {
	done chan struct{}
	err  error // once done is closed
}

// renewing marks the context of what a renewal does. Code of the host that runs in it,
// such as a middleware, may call the client: that call cannot wait for the renewal.
type renewing struct{ r *renewals }

func (r *renewals) within(ctx context.Context) bool { return ctx.Value(renewing{r}) != nil }

// underWay reports whether there is a renewal.
func (r *renewals) underWay() bool { return r.current.Load() != nil }

// settle waits while there is a renewal, whatever comes of it.
func (r *renewals) settle(ctx context.Context) error {
	now := r.current.Load()
	if now == nil || r.within(ctx) {
		return nil
	}
	select {
	case <-now.done:
	case <-r.life.Closing():
	case <-ctx.Done():
		return ended(ctx)
	}
	return nil
}

// renew runs begin if that is needed, or waits for the renewal that is under way, and
// returns what came of it.
func (r *renewals) renew(ctx context.Context, needed func() bool, begin func(context.Context) error) error {
	r.mu.Lock()
	now := r.current.Load()
	if now == nil {
		if !needed() { // done by another call
			r.mu.Unlock()
			return nil
		}
		now = r.startLocked(begin)
	}
	r.mu.Unlock()
	if now == nil {
		return ErrClosed
	}
	select {
	case <-now.done:
		return now.err
	case <-r.life.Closing():
		return r.life.Cause()
	case <-ctx.Done():
		return ended(ctx)
	}
}

// start runs begin unless a renewal is under way. It reports whether there is one.
func (r *renewals) start(begin func(context.Context) error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.underWay() || r.startLocked(begin) != nil
}

// startLocked runs begin until it made what lasts as long as that takes. It returns nil
// if the client is closed.
func (r *renewals) startLocked(begin func(context.Context) error) *renewal {
	now := &renewal{done: make(chan struct{})}
	r.current.Store(now)
	started := r.life.StartSending(func() {
		defer close(now.done)
		ctx := context.WithValue(r.life.Context(), renewing{r}, now)
		for {
			now.err = begin(ctx)
			if r.finished(now) {
				return
			}
		}
	})
	if !started {
		r.current.Store(nil)
		return nil
	}
	return now
}

// finished ends a renewal, unless its connection has ended already.
func (r *renewals) finished(now *renewal) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.err == nil && r.dead() {
		return false
	}
	r.current.Store(nil)
	r.begun = time.Now()
	return true
}

// recent reports whether the last renewal ended less than d ago.
func (r *renewals) recent(d time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.begun) < d
}
