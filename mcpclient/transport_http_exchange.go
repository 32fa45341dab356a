package mcpclient

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// exchange is the life of one HTTP request and its response. It ends with the
// context of the caller, unless a drain has taken it over, and with the
// connection.
type exchange struct {
	ctx     context.Context
	cancel  context.CancelFunc
	detach  func() bool // from the caller; nil when that never ends
	all     *exchanges
	drained bool
}

// exchanges are those of a connection that are under way.
type exchanges struct {
	mu       sync.Mutex
	live     map[*exchange]struct{}
	draining int
	closed   bool
	drains   sync.WaitGroup // none is added once closed is set
}

// begin begins an exchange, which is over at once when the connection is closed.
func (e *exchanges) begin(ctx context.Context) *exchange {
	x := &exchange{all: e}
	if ctx.Done() == nil {
		x.ctx, x.cancel = context.WithCancel(ctx)
	} else {
		x.ctx, x.cancel = context.WithCancel(context.WithoutCancel(ctx))
		x.detach = context.AfterFunc(ctx, x.cancel)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		x.cancel()
		return x
	}
	if e.live == nil {
		e.live = make(map[*exchange]struct{})
	}
	e.live[x] = struct{}{}
	return x
}

// close ends all exchanges, and every later one.
func (e *exchanges) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for x := range e.live {
		x.cancel()
	}
}

// end ends the exchange, unless it is being drained.
func (x *exchange) end() {
	if !x.drained {
		x.finish()
	}
}

func (x *exchange) finish() {
	x.outlive()
	x.cancel()
	x.all.mu.Lock()
	defer x.all.mu.Unlock()
	delete(x.all.live, x)
}

// outlive has the exchange go on when the caller's context ends. It reports
// false when that has happened.
func (x *exchange) outlive() bool { return x.detach == nil || x.detach() }

const (
	maxDraining = maxIdle // more connections would not be kept
	maxDrain    = 4 << 10
	drainTime   = time.Second
)

// drain reads the end of a response that is not needed any more, so that the
// connection under it can be used again, and then ends the exchange. It gives
// up when the server keeps the response open or says more.
func (x *exchange) drain(body io.ReadCloser) {
	if body == http.NoBody || !x.drainAside(body) {
		_ = body.Close()
	}
}

// drainAside drains on a goroutine, unless too many responses are being drained.
func (x *exchange) drainAside(body io.ReadCloser) bool {
	e := x.all
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || e.draining >= maxDraining {
		return false
	}
	e.draining++
	x.outlive()
	x.drained = true
	e.drains.Go(func() {
		timer := time.AfterFunc(drainTime, x.cancel)
		_, _ = io.CopyN(io.Discard, body, maxDrain)
		timer.Stop()
		_ = body.Close()
		x.finish()
		e.mu.Lock()
		defer e.mu.Unlock()
		e.draining--
	})
	return true
}
