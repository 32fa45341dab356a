package talk

import (
	"errors"
	"sync"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/reason"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// health records which servers are lost. Its methods may be called concurrently.
type health struct {
	down       sync.Map // by the name of a server: the error that says why it is lost
	connecting sync.Map // names of servers that are being connected at the person's request
}

// beginConnect notes that the person wants a server to be connected, until done is called.
func (h *health) beginConnect(server string) (done func()) {
	h.connecting.Store(server, true)
	return func() { h.connecting.Delete(server) }
}

// isConnecting reports whether a server is being connected at the person's request.
func (h *health) isConnecting(server string) bool {
	_, connecting := h.connecting.Load(server)
	return connecting
}

// set notes that a server is lost because of err; nil: that it is not.
func (h *health) set(server string, err error) {
	if err == nil {
		h.down.Delete(server)
		return
	}
	h.down.Store(server, err)
}

// reason returns why a server is lost, nil if it is not.
func (h *health) reason(server string) error {
	err, _ := h.down.Load(server)
	why, _ := err.(error)
	return why
}

// onRestart tells the person when a server is lost and when it is back, but not about further failures
// between.
func (l *Servers) onRestart(server string, s screen.Screen) func(attempt int, why error) {
	return func(_ int, why error) {
		wasLost := l.health.reason(server) != nil
		if _, died := errors.AsType[*transport.ProcessError](why); died {
			why = reason.Server{}.Explain(why) // without the server: its advice is for the first start
		}
		l.health.set(server, why)
		switch {
		case why == nil:
			s.Note(screen.Faint, "the server %s is back", server)
		case !wasLost:
			s.Note(screen.Fail, "lost the server %s, and start it again: %v", server, why)
		}
	}
}
