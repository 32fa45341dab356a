package host

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// teardown is the session's only request to its view: to end.
type teardown struct {
	out      *outbox
	asked    atomic.Bool   // the view was asked, and has not answered
	answered chan struct{} // closed when it has answered
}

// teardownID is the id of the request.
const teardownID = 1

// ask asks the view to end, and waits for its answer, which may be an error, until ctx or the life
// of the session ends. It is called once.
func (t *teardown) ask(ctx, life context.Context, reason string) error {
	params, err := jsonrpc.Marshal(map[string]string{"reason": reason})
	if err != nil {
		return err
	}
	t.asked.Store(true)
	message := append(jsonrpc.AppendRequest(nil, teardownID, "ui/resource-teardown"), `,"params":`...)
	t.out.send(append(append(message, params...), '}'))
	select {
	case <-t.answered:
		return nil
	case <-life.Done():
		return context.Cause(life)
	case <-ctx.Done():
		return fmt.Errorf("view does not answer: %w", ctx.Err())
	}
}

// onResponse handles a response of the view. It returns false if the request was not sent or was
// answered before.
func (t *teardown) onResponse(m jsonrpc.Message) bool {
	id, _, ok := m.IntID()
	if !ok || id != teardownID || !t.asked.CompareAndSwap(true, false) {
		return false
	}
	close(t.answered)
	return true
}
