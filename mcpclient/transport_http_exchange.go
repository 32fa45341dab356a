package mcpclient

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// exchange is one HTTP request and its response, and the context of both. It ends
// with the connection, and with the context of the caller, unless a drain has
// taken it over.
type exchange struct {
	*life
	caller  context.Context
	private bool        // none but net/http sees the context
	asks    bool        // its request awaits an answer
	first   bool        // it is of a handshake, and nothing else is under way
	drain   *time.Timer // ends the drain that has taken it over; nil for none

	all        *exchanges
	prev, next *exchange // in the list of all
	left       bool      // that list
}

// Value returns the values of the caller's context.
func (x *exchange) Value(key any) any {
	if v := x.life.Value(key); v != nil { // by which package context knows its own
		return v
	}
	return x.caller.Value(key)
}

// exchanges are those of a connection that are under way.
type exchanges struct {
	mu     sync.Mutex
	first  *exchange
	size   int
	spares lives         // at most as many as there are exchanges
	end    chan struct{} // closed with them; nil before somebody waits for it
	drains crew          // none is added once closed is set
	silent bool          // none asks any more
	closed bool
}

// begin begins an exchange, which is over at once when the connection is closed.
// private says that no code of the host's comes to see its context.
func (e *exchanges) begin(x *exchange, caller context.Context, private bool) {
	x.caller, x.private, x.all = caller, private, e
	if l := e.enter(x, caller.Done()); l != nil {
		e.enterWith(x, l.follow(caller))
	}
}

// enter gives the exchange a life that ends with done. Where there is none it
// returns another one.
func (e *exchanges) enter(x *exchange, done <-chan struct{}) *life {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.spares.pop()
	if l == nil {
		l = newLife()
	}
	if l.done != done {
		return l
	}
	e.enterLocked(x, l)
	return nil
}

func (e *exchanges) enterWith(x *exchange, l *life) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.enterLocked(x, l)
}

func (e *exchanges) enterLocked(x *exchange, l *life) {
	x.life = l
	if e.closed || e.silent && x.asks {
		x.cancel()
	}
	if x.next = e.first; x.next != nil {
		x.next.prev = x
	}
	e.first = x
	e.size++
}

// endAsking ends all exchanges whose requests await an answer, and every later one.
func (e *exchanges) endAsking() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.silent = true
	for x := e.first; x != nil; x = x.next {
		if x.asks && x.drain == nil {
			x.cancel()
		}
	}
}

// close ends all exchanges, and every later one. What is being drained has
// nearly always come to its end by itself.
func (e *exchanges) close() {
	e.closeAll().end()
}

// closeAll returns the lives that nothing will take any more.
func (e *exchanges) closeAll() (unused lives) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.end != nil && !e.closed {
		close(e.end)
	}
	e.closed = true
	unused, e.spares = e.spares, lives{}
	for x := e.first; x != nil; x = x.next {
		if x.drain == nil {
			x.cancel()
		} else if x.drain.Stop() {
			x.drain.Reset(drainGrace)
		}
	}
	return unused
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
	if x.drain == nil {
		x.leave(true)
	}
}

// leave takes the exchange off the list. Its life can go on with another one where
// it is intact, which is to say that nothing is about to end it.
func (x *exchange) leave(intact bool) {
	x.all.remove(x, intact).end()
}

// remove returns the lives that nothing needs any more.
func (e *exchanges) remove(x *exchange, intact bool) (unused lives) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if x.left {
		return unused
	}
	x.left = true
	if x.prev != nil {
		x.prev.next = x.next
	} else {
		e.first = x.next
	}
	if x.next != nil {
		x.next.prev = x.prev
	}
	x.prev, x.next = nil, nil // who keeps this one keeps no others
	e.size--
	if intact && x.private && x.Err() == nil && e.spares.size < e.size {
		e.spares.push(x.life)
	} else {
		unused.push(x.life)
	}
	if e.spares.size > e.size {
		unused.push(e.spares.pop())
	}
	return unused
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
	case x.first:
		x.drainFirst(body)
	case body == http.NoBody || !x.startDrain(body):
		_ = body.Close()
	}
}

// drainFirst drains while what follows a handshake, and needs the connection, waits.
func (x *exchange) drainFirst(body io.ReadCloser) {
	late := time.AfterFunc(drainPause, x.cancel)
	_, _ = io.CopyN(io.Discard, body, maxDrain)
	_ = body.Close()
	if !late.Stop() {
		x.cancel() // before another exchange can have its life
	}
}

// startDrain drains on a goroutine, unless too many responses are being drained.
func (x *exchange) startDrain(body io.ReadCloser) bool {
	if !x.outlive() {
		x.cancel() // before another exchange can have its life
		return false
	}
	e := x.all
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || e.drains.count() >= maxDraining {
		return false
	}
	x.drain = time.AfterFunc(drainTime, x.cancel)
	e.drains.Go(func() {
		_, _ = io.CopyN(io.Discard, body, maxDrain)
		_ = body.Close()
		x.leave(x.drain.Stop())
	})
	return true
}
