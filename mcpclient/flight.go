package mcpclient

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
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

// start gives a request an id, and registers it as awaiting its response. It fails if the connection is closed.
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
	if err != nil && flight.stop != nil {
		flight.stop()
	}
	if o.messageID != nil {
		*o.messageID = flight.ID
	}
	if o.follower != nil && err == nil {
		o.follower.follow(l, flight.ID)
	}
	return flight, err
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

func (f *inFlight) session(l *link) sessionRef {
	if f.sent == nil {
		return sessionRef{connection: l.number}
	}
	return sessionRef{l.number, f.sent.Session()}
}

// rpcError decodes the error that answers the request and removes secrets with scrub.
func (f *inFlight) rpcError(raw json.RawMessage, scrub func(string) string) error {
	err := rpcError(raw, scrub)
	if f.sent != nil && f.sent.ErrorStatus != 0 {
		return &failedAnswer{err, f.sent.ErrorStatus}
	}
	return err
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
	params, err := jsonrpc.Marshal(struct {
		RequestID int64  `json:"requestId"`
		Reason    string `json:"reason,omitempty"`
	}{flight.ID, excerpt.Cut(reason)})
	if err != nil {
		return
	}
	l.postAsync(asyncPost{
		session:     flight.session(l).session,
		description: method,
		body:        jsonrpc.AppendNotification(nil, method, params),
		header:      l.header(e, &request{method: method}),
		values:      flight.ctx,
	})
}
