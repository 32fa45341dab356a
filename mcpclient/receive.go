package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/redact"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// maxBatch bounds the messages of one batch.
const maxBatch = 1000

// receiver decodes the messages of a connection, and dispatches them.
type receiver struct {
	calls      *jsonrpc.Calls
	client     linkClient
	log        *slog.Logger
	texts      *redactor
	warnings   *warnings
	followers  *followers
	dispatcher *dispatcher
}

// receive decodes one message and dispatches it. It reports whether it was the response to the
// call in whose exchange it came.
func (in *receiver) receive(data []byte, from source) (satisfied bool) {
	m, err := jsonrpc.Parse(data)
	switch {
	case errors.Is(err, jsonrpc.ErrBatch):
		return in.receiveBatch(data, from)
	case err != nil:
		return in.garbled(data, err, from)
	case m.IsResponse():
		return in.respond(m, from)
	case from.quoted:
		in.warnings.tolerated("ignored a message among other text: only answers are looked for there", "method", in.texts.cut(m.Method))
	case m.IsRequest():
		if id, ok := in.echoed(m, data); ok {
			return in.calls.Fail(id, errEcho)
		}
		in.dispatcher.serve(m, from)
	default:
		in.notified(m, from)
	}
	return false
}

// errEcho is the error of a handshake whose request came back.
var errEcho = errors.New("the request came back unchanged: the program echoes its input and is not an MCP server (ssh -t allocates a terminal: drop -t)")

// echoed reports whether a request is identical to that of a handshake which awaits its answer.
// Other requests of a server with the same id are its own. The handshake's request is only
// encoded for comparison if it cannot be longer than the message.
func (in *receiver) echoed(m jsonrpc.Message, data []byte) (id int64, ok bool) {
	if m.Method != "initialize" && m.Method != "server/discover" {
		return 0, false
	}
	id, _, _ = m.IntID()
	call, ok := in.calls.Find(id)
	if !ok {
		return 0, false
	}
	r := call.Value.(*inFlight).request
	if r.method != m.Method || len(r.params) > len(data) {
		return 0, false
	}
	sent := in.client.current().encode(nil, id, r, &callOptions{})
	sent = bytes.TrimRight(sent, "}") // middleware may have appended _meta
	return id, bytes.HasPrefix(bytes.TrimSpace(data), sent)
}

func (in *receiver) receiveBatch(data []byte, from source) (satisfied bool) {
	batch, err := jsonrpc.Batch(data, maxBatch)
	if err != nil {
		return in.garbled(data, err, from)
	}
	for _, data := range batch {
		if data[0] != '{' {
			in.warnings.tolerated("skipped an entry of a batch that is not a message", "text", in.texts.quote(data))
			continue
		}
		satisfied = in.receive(data, from) || satisfied
	}
	return satisfied
}

// respond passes a response to its call.
func (in *receiver) respond(m jsonrpc.Message, from source) bool {
	if !m.HasID() {
		if from.call != nil { // an error without id belongs to the exchange in which it came
			return in.calls.Resolve(from.call.ID, m.Response())
		}
		in.warnings.tolerated("error of the server that belongs to no request", "error", in.texts.quote(m.Error))
		return false
	}
	id, quoted, ok := m.IntID()
	switch {
	case from.call != nil && (!ok || id != from.call.ID):
		in.warnings.tolerated("response with the id of another request", "id", in.texts.quote(m.ID), "want", from.call.ID)
		return false
	case !ok || !in.calls.Started(id):
		in.warnings.tolerated("response to a request that was never sent", "id", in.texts.quote(m.ID))
		return false
	case !in.calls.Resolve(id, m.Response()):
		in.log.Debug("response without a waiting request", "id", in.texts.quote(m.ID))
		return false
	case quoted:
		in.warnings.tolerated("the server turned the number of an id into a string", "id", in.texts.quote(m.ID))
	}
	return true
}

// notified passes a notification to its call or subscription, and to the observer.
func (in *receiver) notified(m jsonrpc.Message, from source) {
	switch m.Method {
	case "notifications/progress":
		in.progressed(m.Params)
	case "notifications/cancelled":
		in.dispatcher.cancelled(from.session, m.Params)
	}
	n := &mcp.Notification{Method: m.Method, Params: m.Params}
	if change, ok := n.Change(); ok {
		in.client.changed(change)
	}
	if in.client.current().has(listenStreams) {
		in.subscribed(n, from.call)
	}
	in.client.noticed(n)
}

// rpcError decodes the error of a response and removes secrets with scrub. URLs for a person to
// visit stay unchanged, because some contain the session.
func rpcError(raw json.RawMessage, scrub func(string) string) error {
	e := new(mcp.RPCError)
	if err := json.Unmarshal(raw, e); err != nil {
		return fmt.Errorf("%w: error object: %v: %s", mcp.ErrInvalidResult, err, excerpt.Quote([]byte(scrub(string(raw[:min(len(raw), redact.Max)])))))
	}
	e.Message = scrub(e.Message)
	if e.Code != mcp.CodeURLElicitationNeeded {
		e.Data = jsonrpc.MapTexts(e.Data, scrub)
	}
	return e
}
