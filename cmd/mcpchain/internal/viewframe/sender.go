package viewframe

import (
	"context"
	"encoding/json"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// Sender sends the messages of a frame to the session, each once: a page that gets no answer sends them again.
type Sender struct {
	conn mcpclient.Conn
	busy chan struct{} // has a value while messages are sent; room for one
	sent int           // number of messages that were sent; guarded by busy
}

// NewSender returns a sender of messages to the host's side of a session.
func NewSender(conn mcpclient.Conn) *Sender {
	return &Sender{conn: conn, busy: make(chan struct{}, 1)}
}

// Send sends messages. first is the number of the first one, counted from 0. Send leaves out those that were sent
// before. An error means that the session or the context has ended.
func (s *Sender) Send(ctx context.Context, first int, messages []json.RawMessage) error {
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
	first = max(0, first)
	s.sent = max(s.sent, first) // the page may have dropped messages before first
	for _, m := range messages[min(s.sent-first, len(messages)):] {
		if err := s.conn.Send(ctx, m); err != nil {
			return err
		}
		s.sent++
	}
	return nil
}
