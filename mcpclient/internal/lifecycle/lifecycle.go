// Package lifecycle manages the goroutines of a client.
package lifecycle

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/bound"
)

// Lifecycle is the state of a client, and owns its goroutines.
//
//	open ──▶ closing ──▶ closed
//
// While closing, calls fail and queued messages are still sent. A connection that ends by itself is
// closed at once. When closed, no goroutine starts, and the contexts of all have ended.
type Lifecycle struct {
	opts Options

	ctx    context.Context // ends when the state is closed
	cancel context.CancelFunc

	ours sync.WaitGroup // goroutines that run the client's own code
	host sync.WaitGroup // goroutines that run the host's: handlers, callbacks

	mu      sync.Mutex
	state   state
	closing chan struct{} // closed when the state stops being open
	done    chan struct{} // closed when no goroutine runs any more
	err     error         // why the state is closed

	stopping sync.Once
	stopped  chan struct{} // closed when Wait returns
	closeErr error         // of disconnecting, set before stopped is closed
}

// Options configure a lifecycle.
type Options struct {
	Closed     error                       // why the state is closed after Close
	Ended      func(context.Context) error // the error of a wait whose context has ended; nil: the context's cause
	Middleware bool                        // the host's code wraps what our goroutines send
	Timeout    time.Duration               // for our goroutines to return after the context has ended
	Log        *slog.Logger
}

type state int

const (
	stateOpen state = iota
	stateClosing
	stateClosed
)

// New returns an open lifecycle. Its goroutines get the values of ctx.
func New(ctx context.Context, o Options) *Lifecycle {
	l := &Lifecycle{opts: o, closing: make(chan struct{}), done: make(chan struct{}), stopped: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return l
}

// Context returns a context that ends when the state is closed.
func (l *Lifecycle) Context() context.Context { return l.ctx }

// Closing returns a channel that is closed when the state is no longer open.
func (l *Lifecycle) Closing() <-chan struct{} { return l.closing }

// Stopped returns a channel that is closed when [Lifecycle.Wait] returns.
func (l *Lifecycle) Stopped() <-chan struct{} { return l.stopped }

// Done returns a channel that is closed last, when no goroutine runs any more.
func (l *Lifecycle) Done() <-chan struct{} { return l.done }

// Ended returns the error of a wait whose context has ended.
func (l *Lifecycle) Ended(ctx context.Context) error {
	if l.opts.Ended != nil {
		return l.opts.Ended(ctx)
	}
	return context.Cause(ctx)
}

// Start runs fn on a goroutine that [Lifecycle.Wait] waits for, unless the state is closed.
func (l *Lifecycle) Start(fn func()) bool { return l.startIn(&l.ours, fn) }

// StartSending is [Lifecycle.Start] for a goroutine that sends requests. Wait does not wait for
// it if they go through middleware, which may call Wait.
func (l *Lifecycle) StartSending(fn func()) bool {
	if l.opts.Middleware {
		return l.StartHost(fn)
	}
	return l.Start(fn)
}

// StartHost runs fn, which calls the host's code, on a goroutine that Wait does not wait for,
// unless the state is closed.
func (l *Lifecycle) StartHost(fn func()) bool { return l.startIn(&l.host, fn) }

func (l *Lifecycle) startIn(group *sync.WaitGroup, fn func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == stateClosed {
		return false
	}
	group.Go(fn)
	return true
}

// IsOpen reports whether the state is open.
func (l *Lifecycle) IsOpen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == stateOpen
}

// IsClosed reports whether the state is closed.
func (l *Lifecycle) IsClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == stateClosed
}

// Reason returns the error with which the state was closed, nil before.
func (l *Lifecycle) Reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Cause returns the error for calls that end because the state is not open.
func (l *Lifecycle) Cause() error {
	if err := l.Reason(); err != nil {
		return err
	}
	return l.opts.Closed
}

// Close closes an open lifecycle in the background: it runs goodbye while closing, and then
// disconnect.
func (l *Lifecycle) Close(goodbye func(), disconnect func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != stateOpen {
		return
	}
	l.state = stateClosing
	close(l.closing)
	go func() {
		goodbye()
		l.mu.Lock()
		l.endLocked(l.opts.Closed)
		l.mu.Unlock()
		l.finish(disconnect)
	}()
}

// Fail closes an open lifecycle at once with the reason err, and disconnects in the background.
func (l *Lifecycle) Fail(err error, disconnect func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != stateOpen {
		return
	}
	close(l.closing)
	l.endLocked(err)
	go l.finish(disconnect)
}

func (l *Lifecycle) endLocked(err error) {
	l.state, l.err = stateClosed, err
	l.cancel()
}

// finish disconnects and waits for all goroutines; before Wait returns, for ours no longer than
// the timeout.
func (l *Lifecycle) finish(disconnect func() error) {
	err := disconnect()
	l.await(&l.ours, "a hook of the transport", func() { l.stop(err) })
	l.stop(err)
	l.await(&l.host, "a handler", func() {})
	close(l.done)
}

// await waits for goroutines, and reports once that they are late.
func (l *Lifecycle) await(group *sync.WaitGroup, what string, late func()) {
	timer := time.AfterFunc(l.opts.Timeout, func() {
		l.opts.Log.Warn("close: " + what + " still runs after its context ended")
		late()
	})
	group.Wait()
	timer.Stop()
}

// stop makes Wait return err, the error of disconnecting.
func (l *Lifecycle) stop(err error) {
	l.stopping.Do(func() {
		l.closeErr = err
		close(l.stopped)
	})
}

// Wait waits until the state is closed and our goroutines have returned, for these no longer
// than the timeout. It returns the error of disconnecting.
func (l *Lifecycle) Wait() error {
	<-l.stopped
	return l.closeErr
}

// Sleep waits for d, and fails if ctx ends or the state changes first. The time does not count
// as silence of a call.
func (l *Lifecycle) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return l.Ended(ctx)
	}
	defer bound.From(ctx).Hold()()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-l.Closing():
		return l.Cause()
	case <-ctx.Done():
		return l.Ended(ctx)
	}
}
