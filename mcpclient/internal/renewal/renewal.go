// Package renewal replaces a lost session or connection, once for all calls that wait for it.
package renewal

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
)

// ErrExited is the error of a renewal in which the host's code, such as middleware, did not return.
var ErrExited = errors.New("middleware or a hook of the transport ended its goroutine (runtime.Goexit)")

// Group replaces lost sessions or connections, one at a time, for all calls that wait.
type Group struct {
	life *lifecycle.Lifecycle
	dead func() bool

	current atomic.Pointer[renewal] // in progress, or nil; modified with mu held

	mu    sync.Mutex
	ended time.Time // when the last one ended that succeeded
}

// New returns a group, which uses goroutines of the lifecycle. dead reports whether the current
// connection has ended.
func New(life *lifecycle.Lifecycle, dead func() bool) *Group { return &Group{life: life, dead: dead} }

type renewal struct {
	unattended bool // its context is marked by [backoff.Unattended]
	done       chan struct{}
	err        error // set when done is closed
}

// renewing marks the context of a renewal. Code of the host in it, such as middleware, may call
// the client: that call cannot wait for the renewal.
type renewing struct{ g *Group }

// Within reports whether ctx belongs to a renewal.
func (g *Group) Within(ctx context.Context) bool { return ctx.Value(renewing{g}) != nil }

// UnderWay reports whether there is a renewal.
func (g *Group) UnderWay() bool { return g.current.Load() != nil }

// Wait waits while there is a renewal, regardless of its outcome. It does not wait for the
// renewal to which ctx belongs. The error says why ctx has ended.
func (g *Group) Wait(ctx context.Context) error {
	running := g.current.Load()
	if running == nil || g.Within(ctx) {
		return nil
	}
	select {
	case <-running.done:
	case <-g.life.Closing():
	case <-ctx.Done():
		return g.life.Ended(ctx)
	}
	return nil
}

// Renew waits for the current renewal, or for one that runs begin if that is needed, and returns
// the outcome: begin's error, the lifecycle's if it is closing, or the error of ctx. The context of begin
// has the values of ctx, such as the user. If ctx is not marked by [backoff.Unattended], Renew begins
// again after a renewal with that mark has failed: it may have lacked a person.
func (g *Group) Renew(ctx context.Context, needed func() bool, begin func(context.Context) error) error {
	for {
		running, err := g.join(ctx, needed, begin)
		if running == nil {
			return err
		}
		select {
		case <-running.done:
			if running.err == nil || !running.unattended || backoff.IsUnattended(ctx) {
				return running.err
			}
		case <-g.life.Closing():
			return g.life.Cause()
		case <-ctx.Done():
			return g.life.Ended(ctx)
		}
	}
}

// join returns the current renewal, or a new one if that is needed. Otherwise it returns nil, with an error if the lifecycle
// is closed.
func (g *Group) join(ctx context.Context, needed func() bool, begin func(context.Context) error) (*renewal, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if running := g.current.Load(); running != nil {
		return running, nil
	}
	if !needed() { // another call has done it
		return nil, nil
	}
	if running := g.startLocked(ctx, begin); running != nil {
		return running, nil
	}
	return nil, g.life.Cause()
}

// Start runs begin in the background unless there is a renewal. It returns false if the lifecycle is closed.
func (g *Group) Start(begin func(context.Context) error) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.UnderWay() || g.startLocked(g.life.Context(), begin) != nil
}

// startLocked runs begin on a goroutine, as the current renewal, and again as long as the new
// connection has ended meanwhile. Its context has the values of asker. It returns nil if the lifecycle is closed.
func (g *Group) startLocked(asker context.Context, begin func(context.Context) error) *renewal {
	running := &renewal{unattended: backoff.IsUnattended(asker), done: make(chan struct{})}
	g.current.Store(running)
	started := g.life.StartSending(func() {
		defer close(running.done)
		defer g.finished(running) // if begin does not return
		ctx := askersContext{context.WithValue(g.life.Context(), renewing{g}, running), context.WithoutCancel(asker)}
		for ended := false; !ended; ended = g.finished(running) {
			running.err = ErrExited
			running.err = begin(ctx)
		}
	})
	if !started {
		g.current.Store(nil)
		return nil
	}
	return running
}

// finished ends a renewal and reports that it has, unless its connection has ended already. For a
// renewal that has ended it changes nothing.
func (g *Group) finished(running *renewal) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if running.err == nil && g.dead() {
		return false
	}
	if g.current.CompareAndSwap(running, nil) && running.err == nil {
		g.ended = time.Now()
	}
	return true
}

// Pause returns what is left of d after the last renewal that succeeded.
func (g *Group) Pause(d time.Duration) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(0, d-time.Since(g.ended))
}

// askersContext is the context of a renewal with the values of who asked for it: a source of tokens may know the user by them.
type askersContext struct {
	context.Context
	asker context.Context
}

// Outlive returns a context with the values of a renewal's, for what outlives the renewal: it never ends, and does not belong
// to the renewal.
func Outlive(ctx context.Context) context.Context {
	return askersContext{context.Background(), context.WithoutCancel(ctx)}
}

// Value implements [context.Context].
func (c askersContext) Value(key any) any {
	if _, ok := key.(renewing); ok {
		return c.Context.Value(key)
	}
	return c.asker.Value(key)
}
