package host

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// farewell is the only request of a session to its view: to end.
type farewell struct {
	out      *outbox
	asked    atomic.Bool   // the view was asked, and has not answered
	answered chan struct{} // closed when it has answered
}

// farewellID is the id of the request.
const farewellID = 1

// ask asks the view to end, and waits for its answer, which may be an error, until ctx or the life of
// the session ends. It is called once.
func (f *farewell) ask(ctx, life context.Context, reason string) error {
	params, err := jsonrpc.Marshal(map[string]string{"reason": reason})
	if err != nil {
		return err
	}
	f.asked.Store(true)
	message := append(jsonrpc.AppendRequest(nil, farewellID, "ui/resource-teardown"), `,"params":`...)
	f.out.send(append(append(message, params...), '}'))
	select {
	case <-f.answered:
		return nil
	case <-life.Done():
		return context.Cause(life)
	case <-ctx.Done():
		return fmt.Errorf("the view does not answer: %w", ctx.Err())
	}
}

// answer takes a response of the view, and reports whether it answers the request.
func (f *farewell) answer(m jsonrpc.Message) bool {
	id, _, ok := m.IntID()
	if !ok || id != farewellID || !f.asked.CompareAndSwap(true, false) {
		return false
	}
	close(f.answered)
	return true
}
