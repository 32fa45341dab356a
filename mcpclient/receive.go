package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/redact"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// maxBatch bounds the messages of one batch.
const maxBatch = 1000

// receive takes one message apart and brings it to where it belongs. It reports
// whether the call in whose response it came has that.
func (l *link) receive(data []byte, from source) (satisfied bool) {
	m, err := jsonrpc.Parse(data)
	switch {
	case errors.Is(err, jsonrpc.ErrBatch):
		return l.receiveBatch(data, from)
	case err != nil:
		return l.garbled(data, err, from)
	case m.IsResponse():
		return l.respond(m, from)
	case from.quoted:
		l.tolerated("ignored a message among other text: only answers are looked for there", "method", l.cut(m.Method))
	case m.IsRequest():
		if id, ok := l.echoed(m, data); ok {
			return l.calls.Fail(id, errEcho)
		}
		l.serve(m, from)
	default:
		l.notified(m, from)
	}
	return false
}

// errEcho marks a handshake whose request came back.
var errEcho = errors.New("the request came back unchanged: the program echoes its input and is not an MCP server (ssh -t allocates a terminal: drop -t)")

// echoed reports whether a request is, word for word, that of a handshake which
// awaits its answer. Whatever else a server asks under the same id is its own. Only a
// request that is no longer than the message is encoded to be compared.
func (l *link) echoed(m jsonrpc.Message, data []byte) (id int64, ok bool) {
	if m.Method != "initialize" && m.Method != "server/discover" {
		return 0, false
	}
	id, _, _ = m.IntID()
	call, ok := l.calls.Find(id)
	if !ok {
		return 0, false
	}
	r := call.Value.(*inFlight).request
	if r.method != m.Method || len(r.params) > len(data) {
		return 0, false
	}
	sent := l.client.current().encode(nil, id, r, &callOptions{})
	sent = bytes.TrimRight(sent, "}") // behind which middleware may have put _meta
	return id, bytes.HasPrefix(bytes.TrimSpace(data), sent)
}

func (l *link) receiveBatch(data []byte, from source) (satisfied bool) {
	batch, err := jsonrpc.Batch(data, maxBatch)
	if err != nil {
		return l.garbled(data, err, from)
	}
	for _, data := range batch {
		if data[0] != '{' {
			l.tolerated("skipped an entry of a batch that is not a message", "text", l.quote(data))
			continue
		}
		satisfied = l.receive(data, from) || satisfied
	}
	return satisfied
}

// maxWarnings bounds the warnings about what one connection brings.
const maxWarnings = 100

// tolerated warns of a breach of the protocol that does no harm.
func (l *link) tolerated(breach string, args ...any) {
	l.warn(l.life.Context(), &l.breaches, breach, args)
}

// failed warns of what could not be done for the server.
func (l *link) failed(ctx context.Context, what string, args ...any) {
	l.warn(ctx, &l.failures, what, args)
}

// warn warns of what a server brought about, unless it has warned of too much: a
// server must not fill the log.
func (l *link) warn(ctx context.Context, count *int, what string, args []any) {
	l.mu.Lock()
	*count++
	n := *count
	l.mu.Unlock()
	args = append(args, "count", n)
	switch {
	case n < maxWarnings:
		l.log.WarnContext(ctx, what, args...)
	case n == maxWarnings:
		l.log.WarnContext(ctx, what+"; the connection brought many such things: later ones are not logged", args...)
	default:
		l.log.DebugContext(ctx, what, args...)
	}
}

// respond brings a response to its call.
func (l *link) respond(m jsonrpc.Message, from source) bool {
	if !m.HasID() {
		if from.call != nil { // an error without id belongs to the exchange it came in
			return l.calls.Resolve(from.call.ID, m.Response())
		}
		l.tolerated("error of the server that belongs to no request", "error", l.quote(m.Error))
		return false
	}
	id, quoted, ok := m.IntID()
	switch {
	case from.call != nil && (!ok || id != from.call.ID):
		l.tolerated("response with the id of another request", "id", l.quote(m.ID), "want", from.call.ID)
		return false
	case !ok || !l.calls.Resolve(id, m.Response()):
		l.log.Debug("response without a waiting request", "id", l.quote(m.ID))
		return false
	case quoted:
		l.tolerated("the server turned the number of an id into a string", "id", l.quote(m.ID))
	}
	return true
}

// notified brings a notification to the call or the subscription that it speaks
// of, and to the observer.
func (l *link) notified(m jsonrpc.Message, from source) {
	switch m.Method {
	case "notifications/progress":
		l.progressed(m.Params)
	case "notifications/cancelled":
		l.cancelled(from.session, m.Params)
	}
	n := &mcp.Notification{Method: m.Method, Params: m.Params}
	if change, ok := n.Change(); ok {
		l.client.changed(change)
	}
	if l.client.current().has(listenStreams) {
		l.subscribed(n, from.call)
	}
	l.client.noticed(n)
}

// rpcError reads the error of a response, without what scrub takes out. The URLs
// that a person is to visit stay whole: some name the session.
func rpcError(raw json.RawMessage, scrub func(string) string) error {
	e := new(mcp.RPCError)
	if err := json.Unmarshal(raw, e); err != nil {
		return fmt.Errorf("%w: error object: %v: %s", mcp.ErrInvalidResult, err, excerpt.Quote([]byte(scrub(string(raw[:min(len(raw), redact.Max)])))))
	}
	e.Message = scrub(e.Message)
	if e.Code != mcp.CodeURLElicitationNeeded {
		e.Data = redact.JSON(e.Data, scrub)
	}
	return e
}
