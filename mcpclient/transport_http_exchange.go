package mcpclient

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// exchange is the life of one HTTP request and its response. It ends with the
// connection, and with the context of the caller, unless it can be detached from
// that and a drain has taken it over.
type exchange struct {
	ctx    context.Context
	cancel context.CancelFunc
	detach func() bool // from the caller; nil where that cannot be
	drain  *time.Timer // ends the drain that has taken it over; nil for none

	all        *exchanges
	prev, next *exchange // in the list of all
	left       bool      // that list
}

// exchanges are those of a connection that are under way.
type exchanges struct {
	mu       sync.Mutex
	first    *exchange
	end      chan struct{} // closed with them; nil before somebody waits for it
	drains   crew          // none is added once closed is set
	draining int32
	closed   bool
}

// begin begins an exchange that ends with its caller in any case. Like all it is
// over at once when the connection is closed.
func (e *exchanges) begin(ctx context.Context) *exchange {
	x := &exchange{all: e}
	x.ctx, x.cancel = context.WithCancel(ctx)
	e.enter(x)
	return x
}

// beginDetachable begins an exchange that can outlive its caller, which costs
// more.
func (e *exchanges) beginDetachable(ctx context.Context) *exchange {
	if ctx.Done() == nil {
		return e.begin(ctx)
	}
	x := &exchange{all: e}
	x.ctx, x.cancel = context.WithCancel(context.WithoutCancel(ctx))
	x.detach = context.AfterFunc(ctx, x.cancel)
	e.enter(x)
	return x
}

func (e *exchanges) enter(x *exchange) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		x.cancel()
	}
	if x.next = e.first; x.next != nil {
		x.next.prev = x
	}
	e.first = x
}

// close ends all exchanges, and every later one. What is being drained has
// nearly always come to its end by itself.
func (e *exchanges) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.end != nil && !e.closed {
		close(e.end)
	}
	e.closed = true
	for x := e.first; x != nil; x = x.next {
		if x.drain == nil {
			x.cancel()
		} else if x.drain.Stop() {
			x.drain.Reset(drainGrace)
		}
	}
}

func (e *exchanges) over() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// ended is closed when the connection is.
func (e *exchanges) ended() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.end == nil {
		e.end = make(chan struct{})
		if e.closed {
			close(e.end)
		}
	}
	return e.end
}

// end ends the exchange, unless it is being drained. It may be called again.
func (x *exchange) end() {
	if x.drain != nil {
		return
	}
	x.outlive()
	x.cancel()
	x.all.mu.Lock()
	defer x.all.mu.Unlock()
	x.leaveLocked()
}

func (x *exchange) leaveLocked() {
	if x.left {
		return
	}
	x.left = true
	if x.prev != nil {
		x.prev.next = x.next
	} else {
		x.all.first = x.next
	}
	if x.next != nil {
		x.next.prev = x.prev
	}
}

// outlive has the exchange go on when the caller's context ends, if it can. It
// reports false when that has happened.
func (x *exchange) outlive() bool { return x.detach == nil || x.detach() }

const (
	maxDraining = maxIdle // more connections would not be kept
	maxDrain    = 4 << 10
	drainTime   = time.Second
	drainGrace  = 10 * time.Millisecond // once the connection is closed
)

// leave reads the end of a response that is not needed any more, so that the
// connection under it can be used again, and then ends the exchange. It gives
// up when the server keeps the response open or says more.
func (x *exchange) leave(body io.ReadCloser) {
	if body == http.NoBody || !x.startDrain(body) {
		_ = body.Close()
	}
}

// startDrain drains on a goroutine, unless too many responses are being drained.
func (x *exchange) startDrain(body io.ReadCloser) bool {
	e := x.all
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || e.draining >= maxDraining {
		return false
	}
	e.draining++
	x.outlive()
	x.drain = time.AfterFunc(drainTime, x.cancel)
	e.drains.Go(func() {
		_, _ = io.CopyN(io.Discard, body, maxDrain)
		_ = body.Close()
		x.drain.Stop()
		x.cancel()
		e.mu.Lock()
		defer e.mu.Unlock()
		e.draining--
		x.leaveLocked()
	})
	return true
}

// lateness says how many more event streams to expect whose ends come after the
// answers. One that was not expected, if its caller leaves at once, costs its
// connection.
type lateness struct{ expected atomic.Int32 }

// afterLate is how many streams in a row must end with their answers for none to
// be expected any more.
const afterLate = 100

func (l *lateness) saw(late bool) {
	if late {
		l.expected.Store(afterLate)
	} else if n := l.expected.Load(); n > 0 {
		l.expected.CompareAndSwap(n, n-1)
	}
}
