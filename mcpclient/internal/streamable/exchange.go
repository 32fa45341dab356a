package streamable

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// exchange is one HTTP request with its response, and their context. The context has the values of the caller's. It ends with
// the caller's and with the connection, unless the end of the response is being drained.
type exchange struct {
	context.Context
	cancel context.CancelFunc
	detach func() bool // detaches the context from the caller's
	all    *exchanges

	awaitsAnswer bool        // the request awaits an answer
	handshake    bool        // the request belongs to a handshake: nothing else is under way
	drain        *time.Timer // ends the drain; nil before one
}

type exchanges struct {
	mu         sync.Mutex
	open       []*exchange
	drains     group
	callsEnded bool // no request may await an answer
	closed     bool
	done       chan struct{} // closed by close
}

// begin begins the exchange of a message. Its context has ended already if it comes too late.
func (e *exchanges) begin(caller context.Context, m *message) *exchange {
	x := &exchange{all: e, awaitsAnswer: m.awaitsAnswer, handshake: m.sent.Handshake}
	if x.handshake { // it does not outlive the call
		x.Context, x.cancel = context.WithCancel(caller)
		x.detach = neverDetach
	} else {
		x.Context, x.cancel = context.WithCancel(context.WithoutCancel(caller))
		x.detach = context.AfterFunc(caller, x.cancel)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || e.callsEnded && x.awaitsAnswer || caller.Err() != nil {
		x.cancel()
	}
	e.open = append(e.open, x)
	return x
}

// neverDetach is the detach function of a handshake's exchange, which ends with its caller.
func neverDetach() bool { return false }

// endCalls ends the exchanges whose requests await an answer, and every later one.
func (e *exchanges) endCalls() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.callsEnded = true
	for _, x := range e.open {
		if x.awaitsAnswer && x.drain == nil {
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

func (e *exchanges) isClosed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// end ends the exchange, unless it is being drained. It may be called again.
func (x *exchange) end() {
	if x.drain == nil {
		x.release()
	}
}

func (x *exchange) release() {
	x.detach()
	x.cancel()
	x.all.mu.Lock()
	defer x.all.mu.Unlock()
	if i := slices.Index(x.all.open, x); i >= 0 {
		x.all.open = slices.Delete(x.all.open, i, i+1)
	}
}

const (
	maxDraining = maxIdle // more connections would not be reused
	maxDrain    = 4 << 10
	drainTime   = time.Second
	drainPause  = 100 * time.Millisecond // bounds the drain after a handshake
	drainGrace  = 10 * time.Millisecond  // bounds the drain after close
)

// drainBody reads the rest of a response that is not needed any more, so that its connection can be reused, and then ends the
// exchange. It gives up if the server keeps the response open or sends more.
func (x *exchange) drainBody(body io.ReadCloser) {
	switch {
	case body == http.NoBody:
	case x.handshake:
		x.drainNow(body)
	case !x.startDrain(body):
		_ = body.Close()
	}
}

// drainNow drains on this goroutine: the request after the handshake needs the connection.
func (x *exchange) drainNow(body io.ReadCloser) {
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
		x.release()
	})
	return true
}
