package mcpclient

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/await"
	"github.com/mcpchain/mcpchain/internal/idle"
)

// lifecycle is the state of a client, and owns its goroutines.
//
//	open ──▶ closing ──▶ closed
//
// While it is closing, calls fail, and what is queued for the server still goes out. A
// connection that ends by itself is closed at once. Once closed, no goroutine starts,
// and the context of each one has ended.
type lifecycle struct {
	ctx     context.Context // ends when the state is closed
	cancel  context.CancelFunc
	closing chan struct{} // closed when the state is no longer open
	stopped chan struct{} // closed when Close may return
	done    chan struct{} // closed last: no goroutine runs any more

	middleware bool // Options.Middleware goes around what our goroutines send

	timeout time.Duration // for our goroutines to return after ctx has ended
	log     *slog.Logger

	ours sync.WaitGroup // goroutines that run our code
	host sync.WaitGroup // goroutines that run the host's: handlers, callbacks

	mu       sync.Mutex
	state    lifecycleState
	err      error // why the state is closed
	closeErr error // of disconnecting, once stopped is closed
}

type lifecycleState int

const (
	stateOpen lifecycleState = iota
	stateClosing
	stateClosed
)

// newLifecycle returns an open lifecycle. Its goroutines get the values of ctx.
func newLifecycle(ctx context.Context, timeout time.Duration, log *slog.Logger) *lifecycle {
	l := &lifecycle{
		closing: make(chan struct{}),
		stopped: make(chan struct{}),
		done:    make(chan struct{}),
		timeout: timeout,
		log:     log,
	}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return l
}

// start runs fn on a goroutine that Close waits for, unless the state is closed.
func (l *lifecycle) start(fn func()) bool { return l.startIn(&l.ours, fn) }

// startSending is start for a goroutine that sends requests. Close does not wait for it
// if they go through middleware, which may call Close.
func (l *lifecycle) startSending(fn func()) bool {
	if l.middleware {
		return l.startHost(fn)
	}
	return l.start(fn)
}

// startHost runs fn, which calls the host's code, on a goroutine that Close does not
// wait for, unless the state is closed.
func (l *lifecycle) startHost(fn func()) bool { return l.startIn(&l.host, fn) }

func (l *lifecycle) startIn(group *sync.WaitGroup, fn func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == stateClosed {
		return false
	}
	group.Go(fn)
	return true
}

func (l *lifecycle) isOpen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == stateOpen
}

func (l *lifecycle) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == stateClosed
}

// reason is the error that closed the state, nil before that.
func (l *lifecycle) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// cause is the error for calls that end because the state is not open.
func (l *lifecycle) cause() error {
	if err := l.reason(); err != nil {
		return err
	}
	return ErrClosed
}

// close begins to close, if it was open. In the background it runs goodbye while the
// state is closing, then disconnect.
func (l *lifecycle) close(goodbye func(), disconnect func() error) {
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
		l.endLocked(ErrClosed)
		l.mu.Unlock()
		l.finish(disconnect)
	}()
}

// fail closes at once for the reason err, if it was open. It disconnects in the
// background.
func (l *lifecycle) fail(err error, disconnect func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != stateOpen {
		return
	}
	close(l.closing)
	l.endLocked(err)
	go l.finish(disconnect)
}

func (l *lifecycle) endLocked(err error) {
	l.state, l.err = stateClosed, err
	l.cancel()
}

// finish disconnects and waits for all goroutines, for ours no longer than the timeout
// before Close may return.
func (l *lifecycle) finish(disconnect func() error) {
	err := disconnect()
	ours := make(chan struct{})
	go func() {
		l.ours.Wait()
		close(ours)
		l.host.Wait()
		close(l.done)
	}()
	if !await.Closed(ours, l.timeout) {
		l.log.Warn("close: a hook of the transport goes on after its context ended")
	}
	l.mu.Lock()
	l.closeErr = err
	l.mu.Unlock()
	close(l.stopped)
	if !await.Closed(l.done, l.timeout) {
		l.log.Warn("close: a handler goes on after its context ended")
	}
}

// wait waits until Close may return, and returns the error of disconnecting.
func (l *lifecycle) wait() error {
	<-l.stopped
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closeErr
}

// sleep waits for d, and fails if ctx ends or the state changes before that. The
// silence of a call does not count meanwhile.
func (l *lifecycle) sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	defer idle.From(ctx).Hold()()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-l.closing:
		return l.cause()
	case <-ctx.Done():
		return ended(ctx)
	}
}
