package mcpclient

import (
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/redact"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// garbled looks for messages in malformed text, and fails the call to which the rest belongs.
// Text in the response to a call belongs to that call.
func (in *receiver) garbled(data []byte, err error, from source) (satisfied bool) {
	err = fmt.Errorf("%w: message of the server: %w: %s", mcp.ErrInvalidResult, redact.Error(in.texts.cut(err.Error()), err), in.texts.quote(data))
	if from.call != nil {
		return in.calls.Fail(from.call.ID, err)
	}
	messages, rest, noisy := jsonrpc.Split(data, maxBatch)
	if len(messages) > 0 {
		in.warnings.tolerated("messages that do not stand alone on their lines", "messages", len(messages), "among text", noisy)
	}
	from.quoted = from.quoted || noisy
	for _, m := range messages {
		in.receive(m, from)
	}
	if len(rest) > 0 && !from.quoted {
		in.unreadable(&transport.MessageError{Prefix: rest, Err: err})
	} else if len(messages) == 0 {
		in.warnings.tolerated("unreadable message from the server", "error", in.texts.scrub(err.Error()))
	}
	return false
}

// unreadable fails the call to which a message belongs. If a message that is too large does not
// name its call, it belongs to the only waiting call, unless that is a probe of the server's
// era. Other messages are only logged, as some servers print text.
func (in *receiver) unreadable(bad *transport.MessageError) {
	in.warnings.tolerated("unreadable message from the server", "error", in.texts.scrub(bad.Err.Error()))
	large := errors.Is(bad.Err, transport.ErrMessageTooLarge) || errors.Is(bad.Err, jsonrpc.ErrLargeBatch)
	call, named := in.meant(bad.Prefix, large)
	if call == nil && !named && large {
		call = in.onlyCall()
		if call != nil && !in.client.isReady() && call.Value.(*inFlight).request.method == "server/discover" {
			return
		}
	}
	if call != nil {
		in.calls.Fail(call.ID, bad.Err)
	}
}

// meant returns the call that a broken message answers, by its id. cut means that the end is
// missing. named is false if the message does not name its call.
func (in *receiver) meant(text []byte, cut bool) (call *jsonrpc.Call, named bool) {
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
			m := jsonrpc.Message{ID: value}
			id, _, _ := m.IntID()
			if waiting, ok := in.calls.Find(id); ok {
				if call != nil && waiting != call {
					several = true
				}
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

// onlyCall returns the only waiting call, ignoring subscriptions; nil if there is none or more
// than one.
func (in *receiver) onlyCall() (only *jsonrpc.Call) {
	for _, call := range in.calls.Pending() {
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
