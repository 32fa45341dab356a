package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/streamable"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

const acknowledgeTimeout = 30 * time.Second

// relisten defines the waits before a broken stream is opened again. A stream that lasted for the
// longest wait counts as good.
var relisten = backoff.Policy{First: time.Second, Max: 30 * time.Second}

const streamSilence = 5 * time.Minute

var errIdle = errors.New("stream of the subscription was silent for too long")

// listenFor opens the stream of a subscription to a modern server and waits for the acknowledgement.
func (l *subscriptions) listenFor(ctx context.Context, s *Subscription, o *callOptions) error {
	if !l.life.StartSending(func() { l.listenUntilClosed(s, o) }) {
		return ErrClosed
	}
	select {
	case <-s.ready:
	case <-s.ended:
	case <-ctx.Done():
		return contextError(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.granted == nil:
		return s.err
	case isEmptyFilter(s.granted):
		return errNoNotices
	}
	return nil // even if it ended right afterwards
}

func (l *subscriptions) listenUntilClosed(s *Subscription, o *callOptions) {
	stop := context.AfterFunc(l.life.Context(), s.cancel)
	defer stop()
	defer s.end(errExited) // without effect after the last line
	err := l.listenAgain(s, o)
	if !l.life.IsOpen() {
		err = l.life.Cause()
	}
	s.end(err)
}

// listenAgain opens the stream of a subscription, and opens it again when it breaks, after a lost connection on the next one,
// but not before the server has acknowledged the subscription. It returns why it gave up.
func (l *subscriptions) listenAgain(s *Subscription, o *callOptions) error {
	const method = "subscriptions/listen"
	asked := &request{method: method} // records which refusals were handled
	for failures := 0; ; failures++ {
		var err error
		if asked.sentEra, err = l.sessions.awaitSession(s.ctx); err != nil {
			return err
		}
		began := time.Now()
		err = l.listenOnce(s, o, asked.sentEra)
		ended := s.ctx.Err() != nil || !l.life.IsOpen()
		if time.Since(began) > relisten.Max {
			failures, asked = 0, &request{method: method, sentEra: asked.sentEra}
		}
		switch temporary := isTemporary(err); {
		case ended || temporary && !s.isAcknowledged():
			return err
		case !temporary:
			if again, err := l.sessions.resend(s.ctx, asked, err, 0); !again {
				return err
			}
			failures = -1
			continue
		case errors.Is(err, ErrConnectionLost):
			failures = -1
			continue
		}
		l.log.Debug("the stream of a subscription broke", "error", err)
		wait := max(relisten.Delay(failures), backoff.Spread(streamable.RetryAfter(err)))
		if backoff.Sleep(s.ctx, wait) != nil {
			return err
		}
	}
}

func (s *Subscription) isAcknowledged() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.granted != nil
}

// isTemporary reports whether a stream ended for a temporary reason. An answer of the server is permanent.
func isTemporary(err error) bool {
	if status, ok := errors.AsType[*transport.HTTPError](err); ok {
		return backoff.IsTransient(status.Status)
	}
	return !wraps[*mcp.RPCError](err) && !errors.Is(err, ErrSubscriptionEnded)
}

// listening is one subscriptions/listen in progress. A subscription has one after the other.
type listening struct {
	onMessage   func() // called for each message; nil if silence has no limit
	change      func(mcp.Change)
	acknowledge func(*mcp.SubscriptionFilter) // a nil filter means the requested one
	cancel      context.CancelCauseFunc
}

// listenOnce sends one subscriptions/listen in an era and returns the reason for its end.
func (l *subscriptions) listenOnce(s *Subscription, o *callOptions, era *eraBox) error {
	params, err := jsonrpc.EncodeParams(map[string]mcp.SubscriptionFilter{"notifications": s.asked})
	if err != nil {
		return err
	}
	parent := s.ctx
	if s.isAcknowledged() {
		parent = backoff.Unattended(parent) // nobody waits for the stream
	}
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	late := fmt.Errorf("server did not acknowledge the subscription within %v", o.whole.Duration)
	unanswered := time.AfterFunc(o.whole.Duration, func() { cancel(late) })
	defer unanswered.Stop()
	options := *o
	options.listening = &listening{cancel: cancel, change: s.push, acknowledge: func(granted *mcp.SubscriptionFilter) {
		unanswered.Stop()
		if granted == nil { // the server agreed without a filter
			granted = &s.asked
		}
		if s.setGranted(*granted) {
			l.onAcknowledged() // earlier changes are not reported again
			s.push(mcp.Change{Kind: mcp.Stale})
		}
	}}
	if l.isOverHTTP() {
		silent := time.AfterFunc(streamSilence, func() { cancel(errIdle) })
		defer silent.Stop()
		options.listening.onMessage = func() { silent.Reset(streamSilence) }
	}
	r := &request{method: "subscriptions/listen", params: params, task: len(s.asked.Tasks) > 0, era: era.era}
	if _, err := l.listen(ctx, r, &options); err != nil {
		return err
	}
	return ErrSubscriptionEnded
}

// listen sends a subscriptions/listen and returns its result when the server has ended the
// subscription. It is the last stage of its pipeline.
func (w *roundTripper) listen(ctx context.Context, r *request, o *callOptions) (response, error) {
	l, e := w.peer.link.Load(), r.era
	flight, err := l.start(ctx, e, r, o)
	if err != nil {
		return response{}, err
	}
	defer l.calls.Forget(&flight.Call)
	sent, m, err := w.exchange(ctx, l, e, flight, o)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrSubscriptionEnded):
		return response{}, cause
	case cause != nil:
		if sent {
			l.queueCancelled(e, flight, "")
		}
		return response{}, cause
	case err != nil:
		return response{}, err
	case m.Error != nil:
		return response{}, flight.rpcError(m.Error, l.texts.scrub)
	}
	return response{result: m.Result}, nil
}

// notifySubscription passes a notification of a modern server to the subscription that it names. On
// a stream of its own the name is optional.
func (l *link) notifySubscription(n *mcp.Notification, from *jsonrpc.Call) {
	if n.Method == "notifications/cancelled" {
		l.listenCancelled(n.Params)
		return
	}
	change, changed := n.Change()
	acknowledged := n.Method == "notifications/subscriptions/acknowledged"
	if n.Method == legacyTaskNotice || !changed && !acknowledged {
		return
	}
	var p struct {
		Notifications *mcp.SubscriptionFilter `json:"notifications"`
		Meta          struct {
			Subscription json.RawMessage `json:"io.modelcontextprotocol/subscriptionId"`
		} `json:"_meta"`
	}
	if len(n.Params) > 0 && jsonrpc.DecodeResult(n.Params, &p) != nil {
		return
	}
	a := l.listeningTo(p.Meta.Subscription, from)
	switch {
	case a == nil:
		l.warnings.logViolation("ignored a notification that belongs to no subscription",
			"method", n.Method, "subscription", l.texts.quote(p.Meta.Subscription))
	case changed:
		a.change(change)
	default:
		a.acknowledge(p.Notifications)
	}
}

// listeningTo returns the listening for a notification's subscription id, which equals the
// request's id including its JSON type.
func (l *link) listeningTo(raw json.RawMessage, from *jsonrpc.Call) *listening {
	call := from
	if raw != nil {
		m := jsonrpc.Message{ID: raw}
		id, quoted, ok := m.IntID()
		if !ok || quoted || from != nil && from.ID != id {
			return nil
		}
		if call, ok = l.calls.Find(id); !ok {
			return nil
		}
	}
	if call == nil {
		return nil
	}
	return call.Value.(*inFlight).listening
}

// listenCancelled ends a subscription after notifications/cancelled, which some servers send
// instead of an answer, or before it.
func (l *link) listenCancelled(params json.RawMessage) {
	id, reason := l.dispatcher.decodeCancelled(params)
	if id == nil {
		return
	}
	if a := l.listeningTo(id, nil); a != nil {
		a.cancel(endedError(reason))
	}
}

func endedError(reason string) error {
	if reason == "" {
		return ErrSubscriptionEnded
	}
	return fmt.Errorf("%w: %q", ErrSubscriptionEnded, reason)
}
