package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// roundTripper sends requests over the current connection, once.
type roundTripper struct {
	*peer
	standalone *standaloneStream

	lastCallID atomic.Int64
}

// roundTrip sends a request once and returns its response. It is the last stage of a pipeline.
func (w *roundTripper) roundTrip(ctx context.Context, r *request, o *callOptions) (response, error) {
	if ctx.Err() != nil {
		return response{}, contextError(ctx)
	}
	w.assignCallID(r)
	l, e := w.peer.link.Load(), w.chooseEra(r)
	if r.session != nil && e.has(sessionCursors) && *r.session != l.nextSession() {
		return response{}, errLostCursor
	}
	if err := o.check.run(ctx); err != nil {
		return response{}, err
	}
	flight, err := l.start(ctx, e, r, o)
	if err != nil {
		return response{}, &unsentError{err}
	}
	defer func() { l.finish(&flight.Call, ctx.Err() != nil) }()
	sent, answer, err := w.exchange(flight.ctx, l, e, flight, o)
	if sent && o.check != nil {
		o.check.sent = true
	}
	switch {
	case err != nil && ctx.Err() == nil:
		return response{}, err
	case err != nil:
		if sent && w.announcesCancel(r, o) {
			l.queueCancelled(e, flight, context.Cause(ctx).Error())
		}
		return response{}, contextError(ctx)
	}
	bound.From(ctx).Heard()
	if answer.Error != nil {
		return response{}, flight.rpcError(answer.Error, l.texts.scrub)
	}
	return response{result: answer.Result, session: flight.session(l)}, nil
}

// ping returns nil if the server responds. It uses no middleware, which could delay it.
func (w *roundTripper) ping(ctx context.Context) error {
	_, err := w.roundTrip(ctx, &request{method: w.peer.current().pingMethod()}, &callOptions{noCancelNotice: true})
	return err
}

// chooseEra returns the era of a request: its own, that of the session for which it has waited, or the
// current one.
func (w *roundTripper) chooseEra(r *request) era {
	if r.era != nil {
		return r.era
	}
	r.sentEra = cmp.Or(r.sentEra, w.peer.era.Load())
	return r.sentEra.era
}

// announcesCancel reports whether to tell the server that nobody waits for its answer: not in a
// handshake, as "the initialize request MUST NOT be cancelled by clients".
func (w *roundTripper) announcesCancel(r *request, o *callOptions) bool {
	return !o.noCancelNotice && w.peer.isReady() && r.method != "initialize"
}

func (w *roundTripper) assignCallID(r *request) {
	if r.call.ID == 0 {
		r.call.ID = w.lastCallID.Add(1)
	}
}

// bodies are buffers for messages. Connections do not keep them.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

const maxPooledBody = 16 << 10

// exchange passes a request to the connection and waits for the response. sent means that the
// server may have received it.
func (w *roundTripper) exchange(
	ctx context.Context, l *link, e era, flight *inFlight, o *callOptions,
) (sent bool, _ jsonrpc.Response, err error) {
	if l.exchange != nil {
		return w.exchangeAlone(ctx, l, e, flight, o)
	}
	body := bodies.Get().(*[]byte)
	*body = e.encode((*body)[:0], flight.ID, flight.request, o)
	number, err := l.send(ctx, *body)
	if cap(*body) <= maxPooledBody {
		bodies.Put(body)
	}
	if err != nil {
		return w.unsentOutcome(l, flight, err)
	}
	answer, err := flight.wait(ctx, o)
	if err != nil && l.numbered != nil && l.numbered.Unwritten(number) {
		return false, answer, &unsentError{err}
	}
	return true, answer, err
}

// exchangeAlone is exchange on a connection where every request has a response channel of its own.
// Progress may arrive on the standalone stream while the exchange is silent: a caller that asked
// for progress waits for both.
func (w *roundTripper) exchangeAlone(
	ctx context.Context, l *link, e era, flight *inFlight, o *callOptions,
) (sent bool, _ jsonrpc.Response, err error) {
	m := l.message(e, flight, o)
	m.Handshake = !w.peer.isReady()
	if o.countsProgress || o.progress != nil {
		w.standalone.open(ctx, false)
	}
	deliver := func(data []byte) bool {
		flight.answered = l.receive(data, source{call: &flight.Call, session: m.Session()})
		return flight.answered
	}
	if o.progress == nil {
		w.onExchangeEnd(l, flight, l.exchange.Exchange(ctx, m, deliver), func(late context.Context) { _, _ = flight.Wait(late, nil) })
		answer, _, err := flight.Response()
		return true, answer, err
	}
	wait := func(late context.Context) { <-late.Done() } // the caller waits for the answer itself
	if !w.life.Start(func() { w.onExchangeEnd(l, flight, l.exchange.Exchange(ctx, m, deliver), wait) }) {
		return false, jsonrpc.Response{}, ErrClosed
	}
	answer, err := flight.wait(ctx, o)
	return true, answer, err
}

// strayTime bounds the wait for an answer that a server sends over its standalone stream, in
// violation of the protocol. It may come shortly after the end of the exchange.
const strayTime = 100 * time.Millisecond

// onExchangeEnd ends a call whose exchange over HTTP has ended with err, unless it has an answer.
// wait waits for an answer that arrives in another way.
func (w *roundTripper) onExchangeEnd(l *link, flight *inFlight, err error, wait func(late context.Context)) {
	l.logPanic(err)
	switch {
	case flight.answered:
		return
	case w.life.IsClosed():
		err = ErrClosed
	case errors.Is(err, wire.ErrSessionEnded): // only a cursor belongs to a certain session
		err = errLostCursor
	case err == nil:
		err = fmt.Errorf("%w: the response ended without an answer to the request", mcp.ErrInvalidResult)
	}
	if errors.Is(err, mcp.ErrInvalidResult) && w.standalone.isWanted() {
		late, cancel := context.WithTimeout(flight.ctx, strayTime)
		defer cancel()
		wait(late)
	}
	l.calls.Fail(flight.ID, err)
}

// unsentOutcome returns the outcome of a request that a connection did not accept because of err.
// The call may have ended meanwhile, with an answer or an error that has more details.
func (w *roundTripper) unsentOutcome(l *link, flight *inFlight, err error) (sent bool, _ jsonrpc.Response, _ error) {
	answer, ended, callErr := flight.Response()
	if refused := l.client.onSendError(l); refused != nil && (!ended || callErr != nil) {
		return false, answer, &unsentError{cmp.Or(callErr, refused)}
	}
	if ended {
		return true, answer, callErr
	}
	conn, ok := wire.As[wire.Acknowledger](l.conn)
	return ok && conn.Acknowledged(), jsonrpc.Response{}, err
}
