package mcpclient

import (
	"fmt"

	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
)

// loseSession implements [sessionHolder].
func (l *link) loseSession() (restore func()) {
	lost := l.exchange.Session()
	if lost != nil {
		lost.SetOver(true)
	}
	l.dispatcher.abandon(lost)
	return func() {
		if lost != nil && l.exchange.Session() == lost {
			lost.SetOver(false)
		}
	}
}

// sessionRef is a connection, and over HTTP a session on it.
type sessionRef struct {
	connection int64        // starts at 1; 0 for none
	session    wire.Session // nil for none
}

// sessionID returns the session of the next request, or "".
func (l *link) sessionID() string {
	if s := l.nextSession().session; s != nil && !s.Over() {
		return s.ID()
	}
	return ""
}

// nextSession returns where the next request goes.
func (l *link) nextSession() sessionRef {
	if l.exchange == nil {
		return sessionRef{connection: l.number}
	}
	return sessionRef{l.number, l.exchange.Session()}
}

// session returns where the request went.
func (f *inFlight) session(l *link) sessionRef {
	if f.sent == nil {
		return sessionRef{connection: l.number}
	}
	return sessionRef{l.number, f.sent.Session()}
}

// errLostCursor is the error of a request whose cursor the server has forgotten: "clients MUST
// NOT persist cursors across sessions". Without sessions cursors outlive the connection.
var errLostCursor = fmt.Errorf("%w: its cursor is of the session before: list again from the first page", ErrSessionLost)
