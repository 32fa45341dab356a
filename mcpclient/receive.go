package mcpclient

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/redact"
	"github.com/mcpchain/mcpchain/mcpclient/internal/results"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

const maxBatch = 1000 // messages in one batch or on one line

// receive decodes one message and dispatches it. It reports whether it was the response to the
// call in whose exchange it came.
func (l *link) receive(data []byte, from source) (satisfied bool) {
	m, err := jsonrpc.Parse(data)
	switch {
	case errors.Is(err, jsonrpc.ErrBatch):
		return l.receiveBatch(data, from)
	case err != nil:
		return l.onMalformed(data, err, from)
	case m.IsResponse():
		return l.onResponse(m, from)
	case m.IsRequest():
		l.dispatcher.serve(m, from)
	default:
		l.onNotification(m, from)
	}
	return false
}

func (l *link) receiveBatch(data []byte, from source) (satisfied bool) {
	batch, err := jsonrpc.Batch(data, maxBatch)
	if err != nil {
		return l.onMalformed(data, err, from)
	}
	for _, data := range batch {
		if data[0] != '{' {
			l.warnings.logViolation("skipped an entry of a batch that is not a message", "text", l.texts.quote(data))
			continue
		}
		satisfied = l.receive(data, from) || satisfied
	}
	return satisfied
}

func (l *link) onResponse(m jsonrpc.Message, from source) bool {
	if !m.HasID() {
		if from.call != nil { // an error without id belongs to the exchange in which it came
			return l.calls.Resolve(from.call.ID, m.Response())
		}
		l.warnings.logViolation("error of the server that belongs to no request", "error", l.texts.quote(m.Error))
		return false
	}
	id, quoted, ok := m.IntID()
	switch {
	case from.call != nil && (!ok || id != from.call.ID):
		l.warnings.logViolation("response with the id of another request", "id", l.texts.quote(m.ID), "want", from.call.ID)
		return false
	case !ok || !l.calls.Started(id):
		l.warnings.logViolation("response to a request that was never sent", "id", l.texts.quote(m.ID))
		return false
	case !l.calls.Resolve(id, m.Response()):
		l.log.Debug("response without a waiting request", "id", l.texts.quote(m.ID))
		return false
	case quoted:
		l.warnings.logViolation("the server turned the number of an id into a string", "id", l.texts.quote(m.ID))
	}
	return true
}

func (l *link) onNotification(m jsonrpc.Message, from source) {
	switch m.Method {
	case "notifications/progress":
		l.onProgress(m.Params)
	case "notifications/cancelled":
		l.dispatcher.onCancelled(from.session, m.Params)
	}
	n := &mcp.Notification{Method: m.Method, Params: m.Params}
	if change, ok := n.Change(); ok {
		l.client.invalidate(change)
	}
	if l.client.current().has(listenStreams) {
		l.notifySubscription(n, from.call)
	}
	l.client.onNotification(n)
}

// rpcError decodes the error of a response and removes secrets with scrub.
func rpcError(raw json.RawMessage, scrub func(string) string) error {
	e, err := results.Error(raw, scrub)
	if err != nil {
		text := scrub(string(raw[:min(len(raw), redact.Max)]))
		return fmt.Errorf("%w: error object: %v: %s", mcp.ErrInvalidResult, err, excerpt.Quote([]byte(text)))
	}
	return e
}

// onMalformed fails the call in whose response malformed text came. Other text may have several
// messages on one line, or an answer among words; if not, it fails the call to which it belongs.
func (l *link) onMalformed(data []byte, err error, from source) (satisfied bool) {
	err = redact.Error(l.texts.cut(err.Error()), err)
	err = fmt.Errorf("%w: message of the server: %w: %s", mcp.ErrInvalidResult, err, l.texts.quote(data))
	if from.call != nil {
		return l.calls.Fail(from.call.ID, err)
	}
	messages := jsonrpc.Split(data, maxBatch)
	if _, answer := jsonrpc.CutResponse(data); messages == nil && answer != nil {
		messages = []json.RawMessage{answer}
	}
	if messages == nil {
		l.onUnreadable(&transport.MessageError{Prefix: data, Err: err})
		return false
	}
	l.warnings.logViolation("messages that do not stand alone on their lines", "messages", len(messages))
	for _, m := range messages {
		l.receive(m, from)
	}
	return false
}

// onUnreadable fails the call to which a message belongs. If a message that is too large does
// not name its call, it belongs to the only waiting call, unless that is a probe of the server's
// era. Other messages are only logged, as some servers print text.
func (l *link) onUnreadable(bad *transport.MessageError) {
	l.warnings.logViolation("unreadable message from the server", "error", l.texts.scrub(bad.Err.Error()))
	large := errors.Is(bad.Err, transport.ErrMessageTooLarge) || errors.Is(bad.Err, jsonrpc.ErrLargeBatch)
	call, named := l.answeredCall(bad.Prefix, large)
	if call == nil && !named && large {
		call = l.onlyCall()
		if call != nil && !l.client.isReady() && call.Value.(*inFlight).request.method == "server/discover" {
			return
		}
	}
	if call != nil {
		l.calls.Fail(call.ID, bad.Err)
	}
}

// answeredCall returns the call that a broken message answers, by its id. cut means that the end is
// missing. named is false if the message may answer a call that it does not name.
func (l *link) answeredCall(text []byte, cut bool) (call *jsonrpc.Call, named bool) {
	var asks, answers, several bool
	protocol := cut // the member jsonrpc may be missing
	jsonrpc.BrokenMembers(text, func(key, value []byte) {
		switch string(key) {
		case "method":
			asks = true
		case "result", "error":
			answers = true
		case "jsonrpc":
			protocol = true
		case "id":
			named = named || value != nil
			if waiting, ok := l.callWithID(value); ok {
				several = several || call != nil && waiting != call
				call = waiting
			}
		}
	})
	isAnswer := answers || protocol && !asks
	if several || !isAnswer {
		call = nil
	}
	return call, named || asks
}

// callWithID returns the waiting call with this id.
func (l *link) callWithID(raw json.RawMessage) (*jsonrpc.Call, bool) {
	m := jsonrpc.Message{ID: raw}
	id, _, _ := m.IntID()
	return l.calls.Find(id)
}

// onlyCall returns the only waiting call, ignoring subscriptions; nil if there is none or more than one.
func (l *link) onlyCall() (only *jsonrpc.Call) {
	for _, call := range l.calls.Pending() {
		switch {
		case call.Value.(*inFlight).listening != nil:
		case only != nil:
			return nil
		default:
			only = call
		}
	}
	return only
}
