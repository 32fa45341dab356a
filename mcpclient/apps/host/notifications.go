package host

import (
	"encoding/json"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

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
