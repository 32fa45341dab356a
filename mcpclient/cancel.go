package mcpclient

import (
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// tellCancelled sends notifications/cancelled for a request.
func (w *roundTripper) tellCancelled(l *link, flight *inFlight, reason string) {
	const method = "notifications/cancelled"
	if !w.peer.current().cancels(flight.request, l.exchange != nil) {
		return
	}
	params, err := cancelledParams(flight.ID, excerpt.Cut(reason))
	if err != nil {
		return
	}
	header := w.peer.current().header(&request{method: method})
	l.postAsync(asyncPost{session: flight.session(l).session, what: method, body: jsonrpc.AppendNotification(nil, method, params), header: header})
}

// cancelledParams returns the params of notifications/cancelled.
func cancelledParams(id int64, reason string) ([]byte, error) {
	return jsonrpc.Marshal(struct {
		RequestID int64  `json:"requestId"`
		Reason    string `json:"reason,omitempty"`
	}{id, reason})
}
