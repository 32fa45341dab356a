// Package lifecycle owns the goroutines of a client.
package lifecycle

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Lifecycle is the state of a client, and owns its goroutines.
//
//	open ──▶ closing ──▶ closed
//
// While it is closing, calls fail, and what is queued for the server still goes out. A
// connection that ends by itself is closed at once. Once closed, no goroutine starts,
// and the context of each one has ended.
type Lifecycle struct {
	opts Options

	ctx     context.Context // ends when the state is closed
	cancel  context.CancelFunc
	closing chan struct{} // closed when the state is no longer open
	stopped chan struct{} // closed when Wait returns
	done    chan struct{} // closed last: no goroutine runs any more

	ours sync.WaitGroup // goroutines that run our code
	host sync.WaitGroup // goroutines that run the host's: handlers, callbacks

	mu       sync.Mutex
	state    state
	err      error // why the state is closed
	closeErr error // of disconnecting, once stopped is closed
}

// Options belong to a lifecycle.
type Options struct {
	Closed     error                       // why the state is closed after Close
	Ended      func(context.Context) error // the error of a wait whose context has ended; nil for its cause
	Middleware bool                        // code of the host goes around what our goroutines send
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
	l := &Lifecycle{
		opts:    o,
		closing: make(chan struct{}),
		stopped: make(chan struct{}),
		done:    make(chan struct{}),
	}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return l
}

// Context ends when the state is closed.
func (l *Lifecycle) Context() context.Context { return l.ctx }

// Closing is closed when the state is no longer open.
func (l *Lifecycle) Closing() <-chan struct{} { return l.closing }

// Stopped is closed when [Lifecycle.Wait] returns.
func (l *Lifecycle) Stopped() <-chan struct{} { return l.stopped }

// Done is closed last: no goroutine runs any more.
func (l *Lifecycle) Done() <-chan struct{} { return l.done }

// Ended is the error of a wait whose context has ended.
func (l *Lifecycle) Ended(ctx context.Context) error {
	if l.opts.Ended != nil {
		return l.opts.Ended(ctx)
	}
	return context.Cause(ctx)
}

// Start runs fn on a goroutine that [Lifecycle.Wait] waits for, unless the state is closed.
func (l *Lifecycle) Start(fn func()) bool { return l.startIn(&l.ours, fn) }

// StartSending is [Lifecycle.Start] for a goroutine that sends requests. Wait does not
// wait for it if they go through middleware, which may call Wait.
func (l *Lifecycle) StartSending(fn func()) bool {
	if l.opts.Middleware {
		return l.StartHost(fn)
	}
	return l.Start(fn)
}

// StartHost runs fn, which calls the host's code, on a goroutine that Wait does not
// wait for, unless the state is closed.
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

// Reason is the error that closed the state, nil before that.
func (l *Lifecycle) Reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Cause is the error for calls that end because the state is not open.
func (l *Lifecycle) Cause() error {
	if err := l.Reason(); err != nil {
		return err
	}
	return l.opts.Closed
}

// Close begins to close, if it was open. In the background it runs goodbye while the
// state is closing, then disconnect.
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

// Fail closes at once for the reason err, if it was open. It disconnects in the
// background.
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

// finish disconnects and waits for all goroutines, for ours no longer than the timeout
// before Wait returns.
func (l *Lifecycle) finish(disconnect func() error) {
	err := disconnect()
	stop := sync.OnceFunc(func() {
		l.mu.Lock()
		l.closeErr = err
		l.mu.Unlock()
		close(l.stopped)
	})
	late := time.AfterFunc(l.opts.Timeout, func() {
		l.opts.Log.Warn("close: a hook of the transport goes on after its context ended")
		stop()
	})
	l.ours.Wait()
	late.Stop()
	stop()
	late = time.AfterFunc(l.opts.Timeout, func() {
		l.opts.Log.Warn("close: a handler goes on after its context ended")
	})
	l.host.Wait()
	late.Stop()
	close(l.done)
}

// Wait waits until the state is closed and our goroutines have returned, for these no
// longer than the timeout. It returns the error of disconnecting.
func (l *Lifecycle) Wait() error {
	<-l.stopped
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closeErr
}
