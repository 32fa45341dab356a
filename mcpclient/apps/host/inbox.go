package host

import (
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Bounds of a view's messages, in bytes.
const (
	maxID           = 1 << 10 // bytes of a request's id, and of its progress token
	maxNotification = 64 << 10
	maxError        = 64 << 10 // bytes of an error for the view
)

// inbox reads the messages of the view, and passes each to the part that handles it.
type inbox struct {
	conn          mcpclient.Conn
	limits        Limits
	log           *eventLog
	teardown      *teardown
	requests      *requests
	notifications *notifications
}

// receive handles the next message of the view. An error means that there are no more. A message
// that breaks the protocol or a bound is logged. A request over its bound is refused, too, unless
// its id is too long to be sent back.
func (i *inbox) receive() error {
	raw, err := i.conn.Recv()
	if err != nil {
		return err
	}
	m, err := jsonrpc.Parse(raw)
	if err != nil {
		i.log.warn("a message that cannot be read", "error", err)
		return nil
	}
	switch {
	case m.IsRequest() && len(m.ID) > maxID:
		i.log.warn("a request with an id that is too long", "method", excerpt.Cut(m.Method), "bytes", len(m.ID))
	case m.IsRequest() && len(raw) > i.limits.Incoming:
		i.requests.reject(m, errorf(codeRefused, "a message over %d bytes", i.limits.Incoming))
	case m.IsRequest():
		i.requests.receive(m)
	case m.IsResponse():
		if !i.teardown.onResponse(m) {
			i.log.warn("an answer to no request")
		}
	case len(raw) > maxNotification:
		i.log.warn("a notification that is too large", "method", excerpt.Cut(m.Method), "bytes", len(raw))
	default:
		i.notifications.receive(m)
	}
	return nil
}
