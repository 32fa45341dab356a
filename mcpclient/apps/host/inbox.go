package host

import (
	"encoding/json"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
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

// notifications handles the notifications of the view. Only the inbox calls its methods.
type notifications struct {
	opts     *Options
	log      *eventLog
	view     *view
	calls    *callbacks
	requests *requests
	ready    chan struct{} // closed when the view is ready
	rate     rate
}

// receive handles a notification. It drops those above the rate. Before the view is initialized it
// drops all but ui/notifications/initialized and cancellations of requests.
func (n *notifications) receive(m jsonrpc.Message) {
	if within, _ := n.rate.allow(10 * n.opts.Limits.Rate); !within {
		n.log.warn("more notifications in a minute than ten times Limits.Rate")
		return
	}
	switch m.Method {
	case "ui/notifications/initialized":
		n.onInitialized()
		return
	case "notifications/cancelled":
		n.requests.cancel(jsonrpc.Lookup(m.Params, "requestId"))
		return
	}
	if _, ready := n.view.phase(); !ready {
		n.log.warn("a notification before the view is initialized", "method", excerpt.Cut(m.Method))
		return
	}
	switch m.Method {
	case "ui/notifications/size-changed":
		n.onSizeChanged(m.Method, m.Params)
	case "ui/notifications/request-teardown":
		if n.opts.OnCloseRequest != nil {
			n.calls.queueLatest(m.Method, n.opts.OnCloseRequest)
		}
	case "notifications/message":
		message := new(mcp.LogMessage)
		if json.Unmarshal(m.Params, message) == nil && message.Level.Known() && n.opts.OnLog != nil {
			n.calls.queueOrDrop(m.Method, func() { n.opts.OnLog(message) })
		}
	default:
		n.opts.Logger.Debug("unknown notification of the view", "method", excerpt.Cut(m.Method))
	}
}

// onInitialized ends the handshake: the host may now send to the view.
func (n *notifications) onInitialized() {
	if !n.view.setReady() {
		n.log.warn("ui/notifications/initialized out of order")
		return
	}
	close(n.ready)
	n.view.out.wakeUp()
}

// maxPixels bounds a size that a view reports.
const maxPixels = 100_000

// onSizeChanged passes a size on, unless it is out of bounds.
func (n *notifications) onSizeChanged(method string, params json.RawMessage) {
	var size struct{ Width, Height *float64 }
	if json.Unmarshal(params, &size) != nil {
		n.log.warn("a size that cannot be read")
		return
	}
	for _, pixels := range []*float64{size.Width, size.Height} {
		if pixels != nil && !(*pixels >= 0 && *pixels <= maxPixels) { // also refuses NaN
			n.log.warn("a size out of bounds", "pixels", *pixels)
			return
		}
	}
	if n.opts.OnSize != nil {
		n.calls.queueLatest(method, func() { n.opts.OnSize(size.Width, size.Height) })
	}
}
