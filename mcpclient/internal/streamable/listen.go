package streamable

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/sse"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Listen implements [wire.Exchanger]. The stream is opened again whenever it ends, after growing waits if it soon ends, or if
// its token is refused. Listen returns nil when ctx or the connection ends, and if the server has no such stream.
func (c *conn) Listen(ctx context.Context, sent *wire.Message, open func(resumed bool), deliver func([]byte)) error {
	m := newMessage(sent)
	c.join(m)
	defer m.leave()
	x := c.exchanges.begin(ctx, m)
	defer x.end()
	s := &eventStream{conn: c, header: m.header, session: m.session}
	var opening context.Context = x
	for x.Err() == nil {
		body, err := s.open(opening)
		opening = backoff.Unattended(x) // nobody waits for the next connection
		status, refused := errors.AsType[*statusError](err)
		switch {
		case err == nil:
			open(s.lastID != "")
			s.listen(body, deliver)
			s.resetIfLasted()
		case !isPermanent(err) || x.Err() != nil:
		case refused && status.Status == http.StatusUnauthorized && c.mayRenewToken(err):
			token := s.token
			s.refused = &token
		case refused && status.meansNoStream():
			return nil
		default:
			return err
		}
		if backoff.Sleep(x, s.delay()) != nil {
			break
		}
	}
	return nil
}

// listen reads one connection of the standalone stream. An event over the bound is skipped, as no call waits for it.
func (s *eventStream) listen(body io.ReadCloser, deliver func([]byte)) {
	defer func() { _ = body.Close() }()
	r := sse.NewReader(body, s.conn.max)
	defer r.Release()
	for {
		_, err := s.readEvents(r, func(data []byte) bool { deliver(data); return false })
		if !errors.Is(err, transport.ErrMessageTooLarge) {
			return
		}
	}
}
