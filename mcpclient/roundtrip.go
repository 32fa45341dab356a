package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// inFlight is a request that awaits its response. It is the Value of its [jsonrpc.Call].
type inFlight struct {
	jsonrpc.Call
	ctx          context.Context // the context of the caller and of exchanges over HTTP
	stop         func()          // ends exchanges over HTTP; nil if the server cannot ask in between
	request      *request
	sent         *wire.Message // over HTTP, otherwise nil
	answered     bool          // its exchange over HTTP has delivered the answer
	mayHaveAsked atomic.Bool   // the server has sent a request that may belong to the call

	listening *listening // only of subscriptions/listen
}

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
	l, e := w.peer.link.Load(), r.era
	if e == nil {
		r.sentEra, r.errorStatus = cmp.Or(r.sentEra, w.peer.era.Load()), 0
		e = r.sentEra.era
	}
	if r.session != nil && e.has(sessionCursors) && *r.session != l.nextSession() {
		return response{}, errLostCursor
	}
	if o.check != nil {
		if err := o.check(ctx); err != nil {
			return response{}, &unsentError{err}
		}
	}
	flight, err := l.start(ctx, e, r, o)
	if err != nil {
		return response{}, &unsentError{err}
	}
	defer func() { l.finish(&flight.Call, ctx.Err() != nil) }()
	sent, answer, err := w.exchange(flight.ctx, l, e, flight, o)
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
		if flight.sent != nil {
			r.errorStatus = flight.sent.ErrorStatus
		}
		return response{}, rpcError(answer.Error, l.texts.scrub)
	}
	return response{result: answer.Result, session: flight.session(l)}, nil
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

// start registers a request as awaiting its response. With an error, because the connection is
// closed, it has no id.
func (l *link) start(ctx context.Context, e era, r *request, o *callOptions) (*inFlight, error) {
	flight := &inFlight{ctx: ctx, request: r, listening: o.listening}
	if l.exchange != nil {
		flight.sent = new(wire.Message)
		if l.observed && mayCauseQuestions(r) && e.has(serverRequests) {
			flight.ctx, flight.stop = context.WithCancel(ctx)
		}
	}
	flight.Value = flight
	maxNotes := 0
	if o.progress != nil {
		maxNotes = maxNotifications
	}
	err := l.calls.Start(&flight.Call, maxNotes)
	if o.messageID != nil {
		*o.messageID = flight.ID
	}
	if o.follower != nil && err == nil {
		l.followers.follow(o.follower, flight.ID)
	}
	return flight, err
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
		w.standalone.open(ctx)
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

func (f *inFlight) wait(ctx context.Context, o *callOptions) (jsonrpc.Response, error) {
	return f.Wait(ctx, func(params json.RawMessage) { reportProgress(o.progress, params) })
}

func (l *link) message(e era, flight *inFlight, o *callOptions) *wire.Message {
	m, r := flight.sent, flight.request
	m.Body = e.encode(nil, flight.ID, r, o)
	m.Header = e.header(r)
	m.Opens, m.Repeatable = r.method == "initialize", repeatable(r.method)
	if o.listening != nil {
		m.Heard = o.listening.onMessage
	}
	if r.session != nil {
		m.In = r.session.session
	}
	return m
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

// finish forgets a call, and ends the handlers of the server's requests that belong to it. gaveUp
// means that its caller has stopped waiting.
func (l *link) finish(call *jsonrpc.Call, gaveUp bool) {
	l.calls.Forget(call)
	flight := call.Value.(*inFlight)
	if flight.stop != nil {
		flight.stop()
	}
	if flight.mayHaveAsked.Load() {
		l.dispatcher.onCallEnd(call, gaveUp)
	}
}

// fail ends a call whose answer can no longer arrive, even while its response is being read.
func (l *link) fail(call *jsonrpc.Call, err error) {
	l.calls.Fail(call.ID, err)
	if stop := call.Value.(*inFlight).stop; stop != nil {
		stop()
	}
}

func (l *link) queueCancelled(e era, flight *inFlight, reason string) {
	const method = "notifications/cancelled"
	if !e.hasCancelNotice(flight.request, l.exchange != nil) {
		return
	}
	params, err := cancelledParams(flight.ID, excerpt.Cut(reason))
	if err != nil {
		return
	}
	l.postAsync(asyncPost{
		session:     flight.session(l).session,
		description: method,
		body:        jsonrpc.AppendNotification(nil, method, params),
		header:      l.header(e, &request{method: method}),
	})
}

func cancelledParams(id int64, reason string) ([]byte, error) {
	return jsonrpc.Marshal(struct {
		RequestID int64  `json:"requestId"`
		Reason    string `json:"reason,omitempty"`
	}{id, reason})
}
