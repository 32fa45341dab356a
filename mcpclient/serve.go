package mcpclient

import (
	"encoding/json"
	"sync"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// maxServerID bounds the id of a server's request, in bytes.
const maxServerID = 1 << 10

// dispatcher receives the requests of a legacy server on a link, and sends their answers.
type dispatcher struct {
	*link
	handle  handleFunc
	slots   lifecycle.Slots // one for each request that is being answered
	retries int             // bounds how often an answer is sent again

	mu      sync.Mutex
	serving map[serverRequestID]*serverRequest // requests that are being answered; nil before the first
}

// serve answers, refuses or ignores a server's request. A handler runs on a goroutine of its own. A modern server must not ask,
// and the client must not answer it; but servers of the Go SDK ask, and what waits for the answer would wait without end.
func (d *dispatcher) serve(m jsonrpc.Message, from source) {
	allowed := d.client.current().has(serverRequests)
	switch {
	case from.session != nil && from.session.Ended():
		d.log.Debug("ignored a request of the server: its session has ended", "method", d.texts.cut(m.Method))
	case len(m.ID) > maxServerID:
		d.warnings.logViolation("ignored a request of the server: its id is too long", "method", d.texts.cut(m.Method), "bytes", len(m.ID))
	case !allowed && d.link.exchange != nil:
		d.warnings.logViolation("ignored a request of the server: its revision has none, and no way to answer them",
			"method", d.texts.cut(m.Method))
	case m.Method == "ping":
		if !allowed {
			d.warnings.logViolation("answered a ping of the server: its revision has none")
		}
		d.link.postAsync(asyncPost{
			session:     from.session,
			description: "answer to ping",
			body:        jsonrpc.AppendResult(nil, m.ID, json.RawMessage("{}")),
			values:      from.values(),
		})
	case !allowed:
		d.warnings.logViolation("refused a request of the server: its revision has none", "method", d.texts.cut(m.Method))
		d.refuse(m, from, newRefusal(mcp.CodeMethodNotFound, noRequests+": the server asks by the result input_required"))
	default:
		d.start(m, from)
	}
}

// refuse answers a server's request with an error that did not come from a handler.
func (d *dispatcher) refuse(m jsonrpc.Message, from source, err error) {
	d.link.postAsync(asyncPost{
		session:     from.session,
		description: "refusal of " + d.texts.cut(m.Method),
		body:        responseTo(m.ID, nil, err),
		values:      from.values(),
	})
}

// start lets a handler answer a server's request on a goroutine. It refuses the request if too many
// are running or one answers a request with the same id.
func (d *dispatcher) start(m jsonrpc.Message, from source) {
	if !d.slots.TryAcquire() {
		d.refuse(m, from, newRefusal(mcp.CodeInternalError, "busy: %d requests are being answered already", cap(d.slots)))
		return
	}
	ctx, r := d.newServerRequest(d.life.Context(), from.call)
	r.id = serverRequestID{from.session, string(m.ID)}
	if !d.register(r) {
		r.cancel()
		d.slots.Release()
		d.refuse(m, from, newRefusal(mcp.CodeInvalidRequest, "a request with this id is being answered already"))
		return
	}
	if !d.life.StartHost(func() { d.answer(ctx, m, r) }) {
		r.cancel()
		d.slots.Release()
	}
}

func (d *dispatcher) register(r *serverRequest) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.serving[r.id] != nil {
		return false
	}
	if d.serving == nil {
		d.serving = map[serverRequestID]*serverRequest{}
	}
	d.serving[r.id] = r
	if r.call != nil {
		r.call.Value.(*inFlight).mayHaveAsked.Store(true)
	}
	return true
}

// unregister removes an answered request. It reports whether the server wants no answer.
func (d *dispatcher) unregister(r *serverRequest) (unwanted bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.serving[r.id] == r {
		delete(d.serving, r.id)
	}
	return r.unwanted
}

// onCancelled ends the handler of a request that the server cancelled.
func (d *dispatcher) onCancelled(s wire.Session, params json.RawMessage) {
	id, reason := d.decodeCancelled(params)
	d.mu.Lock()
	r, ok := d.serving[serverRequestID{s, string(id)}]
	if ok {
		r.unwanted = true
		r.cancel()
		delete(d.serving, r.id)
	}
	d.mu.Unlock()
	if ok {
		d.log.Debug("the server gave up a request", "id", d.texts.quote(id), "reason", reason)
	}
}

// decodeCancelled decodes the server's notification that it cancelled a request. It ignores a
// reason that is not a string. "Invalid cancellation notifications SHOULD be ignored."
func (d *dispatcher) decodeCancelled(params json.RawMessage) (id json.RawMessage, reason string) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
		Reason    json.RawMessage `json:"reason"`
	}
	if json.Unmarshal(params, &p) != nil {
		return nil, ""
	}
	reason, _ = jsonrpc.String(p.Reason)
	return p.RequestID, d.texts.cut(reason)
}

// abandon ends the handlers for a session, or with nil all: the server no longer waits for them.
func (d *dispatcher) abandon(s wire.Session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, r := range d.serving {
		if s == nil || id.session == s {
			r.unwanted = true
			r.cancel()
			delete(d.serving, id)
		}
	}
}

func (d *dispatcher) isBusy() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.serving) > 0
}

// onCallEnd ends the handlers of requests that belong to a call. The handler of a request that only
// may belong to it continues, unless the caller gave up.
func (d *dispatcher) onCallEnd(call *jsonrpc.Call, gaveUp bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.serving {
		if r.call == call && (r.certain || gaveUp) {
			r.cancel()
		}
	}
}
