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
// While the state is closing, calls fail and queued messages are still sent. A connection that ends
// by itself closes it immediately. Once it is closed, no goroutine starts, and the contexts of all
// have ended.
type Lifecycle struct {
	opts Options

	ctx    context.Context // ends when the state is closed
	cancel context.CancelFunc

	ours sync.WaitGroup // goroutines that run the client's own code
	host sync.WaitGroup // goroutines that run the host's code: handlers, callbacks

	mu       sync.Mutex
	state    state
	closing  event // the state stops being open
	stopped  event // Wait returns
	done     event // no goroutine runs any more
	err      error // why the state is closed, nil before
	closeErr error // the error of disconnecting, set when stopped is closed
}

// Options configure a lifecycle.
type Options struct {
	Closed     error                       // why the state is closed after Close
	Ended      func(context.Context) error // the error of a wait whose context has ended
	Middleware bool                        // the host's code wraps what our goroutines send
	Timeout    time.Duration               // how long our goroutines may run after the context has ended
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
	l := &Lifecycle{opts: o}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return l
}

// Context returns a context that ends when the state is closed.
func (l *Lifecycle) Context() context.Context { return l.ctx }

// Closing returns a channel that is closed when the state is no longer open.
func (l *Lifecycle) Closing() <-chan struct{} { return l.wait(&l.closing) }

// Stopped returns a channel that is closed when [Lifecycle.Wait] returns.
func (l *Lifecycle) Stopped() <-chan struct{} { return l.wait(&l.stopped) }

// Done returns a channel that is closed last, when no goroutine runs any more.
func (l *Lifecycle) Done() <-chan struct{} { return l.wait(&l.done) }

// Ended returns the error of a wait whose context has ended.
func (l *Lifecycle) Ended(ctx context.Context) error { return l.opts.Ended(ctx) }

// Start runs fn on a goroutine that [Lifecycle.Wait] waits for. If the state is closed it returns
// false instead.
func (l *Lifecycle) Start(fn func()) bool { return l.startIn(&l.ours, fn) }

// StartSending is [Lifecycle.Start] for a goroutine that sends requests. Wait does not wait for
// it if they go through middleware, which may call Wait.
func (l *Lifecycle) StartSending(fn func()) bool {
	if l.opts.Middleware {
		return l.StartHost(fn)
	}
	return l.Start(fn)
}

// StartHost is [Lifecycle.Start] for an fn that calls the host's code: Wait does not wait for it.
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

// Reason returns why the state is closed, nil while it is not.
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

// Close closes an open lifecycle in the background: it runs goodbye while closing, and then disconnect.
func (l *Lifecycle) Close(goodbye func(), disconnect func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != stateOpen {
		return
	}
	l.state = stateClosing
	l.closing.fireLocked()
	go func() {
		goodbye()
		l.mu.Lock()
		l.endLocked(l.opts.Closed)
		l.mu.Unlock()
		l.finish(disconnect)
	}()
}

// Fail immediately closes an open lifecycle with the reason err, and disconnects in the background.
func (l *Lifecycle) Fail(err error, disconnect func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != stateOpen {
		return
	}
	l.closing.fireLocked()
	l.endLocked(err)
	go l.finish(disconnect)
}

func (l *Lifecycle) endLocked(err error) {
	l.state, l.err = stateClosed, err
	l.cancel()
}

// finish disconnects and waits for all goroutines. It lets Wait return as soon as ours have
// returned, or after the timeout.
func (l *Lifecycle) finish(disconnect func() error) {
	err := disconnect()
	late := time.AfterFunc(l.opts.Timeout, func() {
		l.opts.Log.Warn("close: a hook of the transport still runs after its context ended")
		l.stop(err)
	})
	l.ours.Wait()
	late.Stop()
	l.stop(err)
	late = time.AfterFunc(l.opts.Timeout, func() {
		l.opts.Log.Warn("close: a handler still runs after its context ended")
	})
	l.host.Wait()
	late.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done.fireLocked()
}

// stop makes Wait return err, the error of disconnecting.
func (l *Lifecycle) stop(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeErr = err
	l.stopped.fireLocked()
}

// Wait waits until the state is closed and our goroutines have returned, for these no longer
// than the timeout. It returns the error of disconnecting.
func (l *Lifecycle) Wait() error {
	<-l.Stopped()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closeErr
}

// Sleep waits for d. If ctx ends first it returns the error of [Lifecycle.Ended], if the state
// stops being open the error of [Lifecycle.Cause]. The time does not count as silence of a call.
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

// event happens once. It has a channel only if someone waits for it, which is rare.
type event struct {
	happened bool
	wake     chan struct{}
}

func (l *Lifecycle) wait(e *event) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.wake == nil {
		e.wake = make(chan struct{})
		if e.happened {
			close(e.wake)
		}
	}
	return e.wake
}

func (e *event) fireLocked() {
	if !e.happened && e.wake != nil {
		close(e.wake)
	}
	e.happened = true
}
