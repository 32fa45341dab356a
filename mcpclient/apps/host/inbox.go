package host

import (
	"encoding/json"
	"errors"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Bounds of a view's messages, in bytes.
const (
	maxID           = 1 << 10 // bytes of a request's id, and of its progress token
	maxNotification = 64 << 10
	maxError        = 64 << 10 // bytes of an error for the view
)

// inbox reads the messages of the view. It handles notifications, and passes requests on.
type inbox struct {
	conn     transport.Conn
	opts     *Options
	log      *eventLog
	view     *view
	calls    *callbacks
	requests *requests
	asked    *jsonrpc.Calls
	ready    chan struct{} // closed when the view is ready
	rate     rate          // of notifications
}

// receive handles the next message of the view. An error means that there are no more. A message that breaks the
// protocol or a bound is logged. A request over its bound is refused, too, unless its id is too long to be sent back.
func (i *inbox) receive() error {
	raw, err := i.conn.Recv()
	if _, oneMessage := errors.AsType[*transport.MessageError](err); err != nil && !oneMessage {
		return err
	}
	var m jsonrpc.Message
	if err == nil {
		m, err = jsonrpc.Parse(raw)
	}
	if err != nil {
		i.log.warn("a message that cannot be read", "error", err)
		return nil
	}
	switch {
	case m.IsRequest() && len(m.ID) > maxID:
		i.log.warn("a request with an id that is too long", "method", excerpt.Cut(m.Method), "bytes", len(m.ID))
	case m.IsRequest() && len(raw) > i.opts.Limits.Incoming:
		i.requests.reject(m, errorf(codeRefused, "a message over %d bytes", i.opts.Limits.Incoming))
	case m.IsRequest():
		i.requests.receive(m)
	case m.IsResponse():
		if id, _, ok := m.IntID(); !ok || !i.asked.Resolve(id, m.Response()) {
			i.log.warn("an answer to no request")
		}
	case len(raw) > maxNotification:
		i.log.warn("a notification that is too large", "method", excerpt.Cut(m.Method), "bytes", len(raw))
	default:
		i.onNotification(m)
	}
	return nil
}

// onNotification handles a notification. It drops those above the rate. Before the view is initialized it
// drops all but ui/notifications/initialized and cancellations of requests.
func (i *inbox) onNotification(m jsonrpc.Message) {
	if within, _ := i.rate.allow(10 * i.opts.Limits.Rate); !within {
		i.log.warn("more notifications in a minute than ten times Limits.Rate")
		return
	}
	switch m.Method {
	case "ui/notifications/initialized":
		i.onInitialized()
		return
	case "notifications/cancelled":
		i.requests.cancel(jsonrpc.Lookup(m.Params, "requestId"))
		return
	}
	if _, ready := i.view.phase(); !ready {
		i.log.warn("a notification before the view is initialized", "method", excerpt.Cut(m.Method))
		return
	}
	switch m.Method {
	case "ui/notifications/size-changed":
		i.onSizeChanged(m.Method, m.Params)
	case "ui/notifications/request-teardown":
		if i.opts.OnCloseRequest != nil {
			i.calls.queueLatest(m.Method, i.opts.OnCloseRequest)
		}
	case "notifications/message":
		message := new(mcp.LogMessage)
		if json.Unmarshal(m.Params, message) == nil && inquiry.IsLevel(message.Level) && i.opts.OnLog != nil {
			i.calls.queueOrDrop(m.Method, func() { i.opts.OnLog(message) })
		}
	default:
		i.opts.Logger.Debug("unknown notification of the view", "method", excerpt.Cut(m.Method))
	}
}

// onInitialized ends the handshake: the host may now send to the view.
func (i *inbox) onInitialized() {
	if !i.view.setReady() {
		i.log.warn("ui/notifications/initialized out of order")
		return
	}
	close(i.ready)
	i.view.out.wakeUp()
}

// maxPixels bounds a size that a view reports.
const maxPixels = 100_000

// onSizeChanged passes a size on, unless it is out of bounds.
func (i *inbox) onSizeChanged(method string, params json.RawMessage) {
	var size struct{ Width, Height *float64 }
	if json.Unmarshal(params, &size) != nil {
		i.log.warn("a size that cannot be read")
		return
	}
	for _, pixels := range []*float64{size.Width, size.Height} {
		if pixels != nil && !(*pixels >= 0 && *pixels <= maxPixels) { // also refuses NaN
			i.log.warn("a size out of bounds", "pixels", *pixels)
			return
		}
	}
	if i.opts.OnSize != nil {
		i.calls.queueLatest(method, func() { i.opts.OnSize(size.Width, size.Height) })
	}
}
