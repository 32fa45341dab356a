package host

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// answer is the view's answer to a request of the host.
type answer = jsonrpc.Response

// asks are the current requests to the view.
type asks struct {
	life context.Context
	out  *outbox

	mu      sync.Mutex
	waiting map[int64]chan answer // by id
	lastID  int64
}

// ask sends a request to the view and waits for its answer, until ctx or the session ends. An error
// of the view is an [*mcp.RPCError].
func (a *asks) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	encoded, err := jsonrpc.EncodeParams(params)
	if err != nil {
		return nil, err
	}
	answered := make(chan answer, 1)
	a.mu.Lock()
	a.lastID++
	id := a.lastID
	a.waiting[id] = answered
	a.mu.Unlock()
	defer a.take(id)
	message := jsonrpc.AppendRequest(nil, id, method)
	if len(encoded) > 0 {
		message = append(append(message, `,"params":`...), encoded...)
	}
	a.out.send(append(message, '}'))
	select {
	case r := <-answered:
		return resultOf(r)
	case <-a.life.Done():
		return nil, context.Cause(a.life)
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: the view does not answer: %w", method, ctx.Err())
	}
}

// take ends the wait of a request. It returns nil if nothing waits.
func (a *asks) take(id int64) chan<- answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	answered := a.waiting[id]
	delete(a.waiting, id)
	return answered
}

// answered passes the view's answer to its request, as an error if the answer is too large. It
// reports whether there is such a request.
func (a *asks) answered(m jsonrpc.Message, large bool) bool {
	id, _, ok := m.IntID()
	if !ok {
		return false
	}
	waits := a.take(id)
	if waits == nil {
		return false
	}
	if large {
		waits <- answer{Error: json.RawMessage(`{"code":-32000,"message":"the answer is too large"}`)}
	} else {
		waits <- m.Response()
	}
	return true
}

func resultOf(r answer) (json.RawMessage, error) {
	if r.Error == nil {
		return r.Result, nil
	}
	failed := &mcp.RPCError{}
	if err := json.Unmarshal(r.Error, failed); err != nil {
		return nil, fmt.Errorf("%w: malformed error object", mcp.ErrInvalidResult)
	}
	return nil, failed
}
