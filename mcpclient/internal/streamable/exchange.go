package streamable

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// exchange is one HTTP request with its response, and their context. The context has
// the values of the caller's. It ends with that and with the connection, unless the end
// of the response is being drained.
type exchange struct {
	context.Context
	cancel context.CancelFunc
	detach func() bool // from the caller's context
	all    *exchanges
	place  int // in all.open; -1 when it is not there

	asks  bool        // the request awaits an answer
	first bool        // the request is of a handshake, and nothing else is under way
	drain *time.Timer // ends the drain; nil before one
}

// exchanges are the exchanges of a connection.
type exchanges struct {
	mu       sync.Mutex
	open     []*exchange
	drains   group
	callsOff bool // no request may await an answer
	closed   bool
	done     chan struct{} // closed by close
}

// begin begins an exchange. Its context has ended already if it comes too late.
func (e *exchanges) begin(caller context.Context, asks, first bool) *exchange {
	x := &exchange{all: e, asks: asks, first: first}
	if first { // it does not outlive the call
		x.Context, x.cancel = context.WithCancel(caller)
		x.detach = attached
	} else {
		x.Context, x.cancel = context.WithCancel(context.WithoutCancel(caller))
		x.detach = context.AfterFunc(caller, x.cancel)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || e.callsOff && asks || caller.Err() != nil {
		x.cancel()
	}
	x.place = len(e.open)
	e.open = append(e.open, x)
	return x
}

// attached is the detach of an exchange that is never detached.
func attached() bool { return false }

// removeLocked takes an exchange out of the open ones.
func (e *exchanges) removeLocked(x *exchange) {
	if x.place < 0 {
		return
	}
	last := len(e.open) - 1
	e.open[x.place] = e.open[last]
	e.open[x.place].place = x.place
	e.open[last], e.open = nil, e.open[:last]
	x.place = -1
}

// endCalls ends the exchanges whose requests await an answer, and every later one.
func (e *exchanges) endCalls() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.callsOff = true
	for _, x := range e.open {
		if x.asks && x.drain == nil {
			x.cancel()
		}
	}
}

// close ends all exchanges, and every later one. A drain gets a moment: nearly always
// the rest of the response has come already.
func (e *exchanges) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		close(e.done)
	}
	e.closed = true
	for _, x := range e.open {
		if x.drain == nil {
			x.cancel()
		} else if x.drain.Stop() {
			x.drain.Reset(drainGrace)
		}
	}
}

// over reports whether close was called.
func (e *exchanges) over() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// end ends the exchange, unless it is being drained. It may be called again.
func (x *exchange) end() {
	if x.drain == nil {
		x.leave()
	}
}

func (x *exchange) leave() {
	x.detach()
	x.cancel()
	x.all.mu.Lock()
	defer x.all.mu.Unlock()
	x.all.removeLocked(x)
}

const (
	maxDraining = maxIdle // more connections would not be kept
	maxDrain    = 4 << 10
	drainTime   = time.Second
	drainPause  = 100 * time.Millisecond // of a handshake
	drainGrace  = 10 * time.Millisecond  // once the connection is closed
)

// drainOff reads the end of a response that is not needed any more, so that the
// connection under it can be used again, and then ends the exchange. It gives
// up when the server keeps the response open or says more.
func (x *exchange) drainOff(body io.ReadCloser) {
	switch {
	case body == http.NoBody:
	case x.first:
		x.drainFirst(body)
	case !x.startDrain(body):
		_ = body.Close()
	}
}

// drainFirst drains while what follows a handshake, and needs the connection, waits.
func (x *exchange) drainFirst(body io.ReadCloser) {
	late := time.AfterFunc(drainPause, x.cancel)
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, body, maxDrain)
	_ = body.Close()
}

// startDrain drains on a goroutine, unless too many responses are being drained.
func (x *exchange) startDrain(body io.ReadCloser) bool {
	e := x.all
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || e.drains.count() >= maxDraining || !x.detach() {
		return false
	}
	x.drain = time.AfterFunc(drainTime, x.cancel)
	e.drains.Go(func() {
		_, _ = io.CopyN(io.Discard, body, maxDrain)
		_ = body.Close()
		x.drain.Stop()
		x.leave()
	})
	return true
}
