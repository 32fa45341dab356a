package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
)

// postNotification sends a notification.
func (l *link) postNotification(ctx context.Context, method string, params []byte) error {
	header := l.client.current().header(&request{method: method})
	return l.post(ctx, jsonrpc.AppendNotification(nil, method, params), header, nil)
}

// send passes a message to a connection that is not a [wire.Exchanger]. header is ignored unless
// its messages have headers. number is that of a [wire.Numberer], otherwise 0.
func (l *link) send(ctx context.Context, body []byte, header http.Header) (number int64, err error) {
	switch {
	case l.headed != nil:
		return 0, l.headed.SendWithHeader(ctx, body, ownHeader(header))
	case l.numbered != nil:
		return l.numbered.SendNumbered(ctx, body)
	}
	return 0, l.conn.Send(ctx, body)
}

// post sends a message without a response, in the given session, or in the current one if s is
// nil. The error is [wire.ErrSessionOver] if the session has ended; if the connection is ending it
// says why.
func (l *link) post(ctx context.Context, body []byte, header http.Header, s wire.Session) error {
	if l.exchange == nil {
		_, err := l.send(ctx, body, header)
		if err != nil {
			return cmp.Or(l.client.onSendError(l), err)
		}
		return nil
	}
	err := l.exchange.Post(ctx, &wire.Message{Body: body, Header: header, In: s})
	if err != nil && ctx.Err() != nil {
		return contextError(ctx)
	}
	return err
}

// asyncPost is a message without a response for which no caller waits.
type asyncPost struct {
	session wire.Session // the session that it belongs to, or nil
	what    string       // describes the message in the log
	body    []byte
	header  http.Header     // over HTTP; nil for an answer
	values  context.Context // has the values for sending; nil for the values of Connect
}

// postAsync queues a message.
func (l *link) postAsync(p asyncPost) {
	l.async.Add(lifecycle.Message{
		Values: p.values,
		Send: func(ctx context.Context) error {
			header := p.header
			if header == nil {
				header = l.client.current().header(nil)
			}
			return l.post(ctx, p.body, header, p.session)
		},
		OnError: func(err error) {
			if errors.Is(err, wire.ErrSessionOver) || l.client.onMessageError(err) {
				l.log.Debug("message to the server dropped", "message", p.what, "because", err)
				return
			}
			l.warnings.logFailure(l.life.Context(), "message to the server lost", "message", p.what, "error", err)
		},
	})
}

// sendingTime returns within, or less for a pipe that the server may no longer read.
func (l *link) sendingTime(within time.Duration) time.Duration {
	if conn, ok := wire.As[wire.Acknowledger](l.conn); ok && !conn.Acknowledged() {
		return min(within, unreadTime)
	}
	return within
}
