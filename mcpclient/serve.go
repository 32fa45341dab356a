package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

const (
	answerTimeout = 30 * time.Second // bounds the sending of a handler's answer
	maxServerID   = 1 << 10          // bytes of the id of a server's request
)

// serve answers a server's request: at once where no handler is needed, or else on a
// goroutine of its own.
func (l *link) serve(m jsonrpc.Message, from source) {
	known := l.client.current().answers()
	switch {
	case from.session != nil && from.session.Over():
		l.log.Debug("ignored a request of the server: its session has ended", "method", l.cut(m.Method))
	case len(m.ID) > maxServerID:
		l.tolerated("ignored a request of the server: its id is too long", "method", l.cut(m.Method), "bytes", len(m.ID))
	case !known && l.exchange != nil:
		l.tolerated("ignored a request of the server: its revision has none, and no way to answer them", "method", l.cut(m.Method))
	case m.Method == "ping":
		if !known {
			l.tolerated("answered a ping of the server: its revision has none")
		}
		l.postAsync(asyncPost{session: from.session, what: "answer to ping", body: jsonrpc.AppendResult(nil, m.ID, json.RawMessage("{}"))})
	case !known:
		l.tolerated("refused a request of the server: its revision has none", "method", l.cut(m.Method))
		l.refuse(m, from, refuse(mcp.CodeMethodNotFound, noRequests+": it asks by the result input_required"))
	default:
		l.handled(m, from)
	}
}

// refuse answers a server's request with an error that no handler gave.
func (l *link) refuse(m jsonrpc.Message, from source, err error) {
	l.postAsync(asyncPost{session: from.session, what: "refusal of " + l.cut(m.Method), body: responseTo(m.ID, nil, err)})
}

// handled has a handler answer a server's request, unless too many run or one
// answers a request with that id.
func (l *link) handled(m jsonrpc.Message, from source) {
	if !l.answers.TryAcquire() {
		l.refuse(m, from, refuse(mcp.CodeInternalError, "busy: %d requests are being answered already", cap(l.answers)))
		return
	}
	ctx, r := l.newServerRequest(l.life.Context(), from.call)
	r.id = serverRequestID{from.session, string(m.ID)}
	if !l.register(r) {
		r.cancel()
		l.answers.Release()
		l.refuse(m, from, refuse(mcp.CodeInvalidRequest, "a request with this id is being answered already"))
		return
	}
	if !l.life.StartHost(func() { l.answer(ctx, m, r) }) {
		r.cancel()
		l.answers.Release()
	}
}

// register remembers a server request, unless one with its id is there.
func (l *link) register(r *serverRequest) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.serving[r.id] != nil {
		return false
	}
	if l.serving == nil {
		l.serving = map[serverRequestID]*serverRequest{}
	}
	l.serving[r.id] = r
	if r.call != nil {
		r.call.Value.(*inFlight).asked.Store(true)
	}
	return true
}

// answer runs the handler and sends what it says.
func (l *link) answer(ctx context.Context, m jsonrpc.Message, r *serverRequest) {
	defer l.answers.Release()
	result, err := l.handle(ctx, m.Method, m.Params, mcp.Origin{ID: m.ID, Call: r.info()})
	if err == nil {
		result = aboutTask(result, m.Params)
	}
	l.mu.Lock()
	if l.serving[r.id] == r {
		delete(l.serving, r.id)
	}
	silent := r.silent
	l.mu.Unlock()
	r.cancel()
	if silent || l.life.IsClosed() {
		return
	}
	switch {
	case err == nil:
	case wireError(err).Code == mcp.CodeInternalError: // the server learns no more than that
		l.failed(ctx, "server request failed", "method", l.cut(m.Method), "error", l.client.scrubbed(err))
	default:
		l.log.DebugContext(ctx, "server request failed", "method", l.cut(m.Method), "error", l.client.scrubbed(err))
	}
	ctx, cancel := context.WithTimeout(l.life.Context(), answerTimeout)
	defer cancel()
	switch err := l.reply(ctx, responseTo(m.ID, result, err), r.id.session); {
	case err == nil || l.life.IsClosed() || errors.Is(err, ErrClosed):
	case l.client.sessionLost(err):
		l.log.DebugContext(ctx, "answer to the server dropped: it has forgotten the session", "method", l.cut(m.Method))
		if r.call != nil {
			l.fail(r.call, err)
		}
	case errors.Is(err, wire.ErrSessionOver):
		l.log.DebugContext(ctx, "answer to the server dropped", "method", l.cut(m.Method), "because", err)
	default:
		l.failed(ctx, "answer to the server lost", "method", l.cut(m.Method), "error", err)
	}
}

// givenUp reads a notice that the server gave up a request; a reason that is not a
// string is ignored. "Invalid cancellation notifications SHOULD be ignored."
func (l *link) givenUp(params json.RawMessage) (id json.RawMessage, reason string) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
		Reason    json.RawMessage `json:"reason"`
	}
	if json.Unmarshal(params, &p) != nil {
		return nil, ""
	}
	reason, _ = jsonrpc.String(p.Reason)
	return p.RequestID, l.cut(reason)
}

// cancelled ends the handler of a request that the server gave up.
func (l *link) cancelled(s wire.Session, params json.RawMessage) {
	id, reason := l.givenUp(params)
	l.mu.Lock()
	r, ok := l.serving[serverRequestID{s, string(id)}]
	if ok {
		r.silent = true
		r.cancel()
		delete(l.serving, r.id)
	}
	l.mu.Unlock()
	if ok {
		l.log.Debug("the server gave up a request", "id", l.quote(id), "reason", reason)
	}
}
