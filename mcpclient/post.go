package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
)

// header returns the headers of a request in an era, or of an answer if r is nil. They are nil on a
// connection that has none.
func (l *link) header(e era, r *request) http.Header {
	if l.exchange == nil {
		return nil
	}
	return e.header(r)
}

func (l *link) postNotification(ctx context.Context, method string, params []byte) error {
	header := l.header(l.client.current(), &request{method: method})
	return l.post(ctx, jsonrpc.AppendNotification(nil, method, params), header, nil)
}

// send passes a message to a connection that is not a [wire.Exchanger]. number is the message's
// number at a [wire.Numberer], otherwise 0.
func (l *link) send(ctx context.Context, body []byte) (number int64, err error) {
	if l.numbered != nil {
		return l.numbered.SendNumbered(ctx, body)
	}
	return 0, l.conn.Send(ctx, body)
}

// post sends a message without a response, over HTTP in the given session, or in the current one if
// s is nil. The error is [wire.ErrSessionEnded] if the session has ended. If the connection is
// ending, the error says why, and otherwise, if ctx has ended, it is that of the context.
func (l *link) post(ctx context.Context, body []byte, header http.Header, s wire.Session) (err error) {
	if l.exchange != nil {
		err = l.exchange.Post(ctx, &wire.Message{Body: body, Header: header, In: s})
		l.logPanic(err)
	} else if _, err = l.send(ctx, body); err != nil {
		err = cmp.Or(l.client.onSendError(l), err)
	}
	if err != nil && ctx.Err() != nil && !errors.Is(err, ErrClosed) {
		return contextError(ctx)
	}
	return err
}

// logPanic logs the stack of a panic of HTTP.Token, the error of an exchange.
func (l *link) logPanic(err error) {
	if p, ok := errors.AsType[*bound.PanicError](err); ok && p.What == wire.TokenSource {
		l.log.Error("HTTP.Token panicked", "stack", string(p.Stack))
	}
}

// asyncPost is a message for which no caller waits.
type asyncPost struct {
	session     wire.Session // the session that it belongs to, or nil
	description string       // for the log
	body        []byte
	header      http.Header     // nil: the header of an answer in the current era
	values      context.Context // it is sent with the values of this context; nil: of Connect's
}

func (l *link) postAsync(p asyncPost) {
	l.async.Send(cmp.Or(p.values, l.life.Context()), func(ctx context.Context) error {
		header := p.header
		if header == nil {
			header = l.header(l.client.current(), nil)
		}
		return l.post(ctx, p.body, header, p.session)
	}, func(err error) {
		if errors.Is(err, wire.ErrSessionEnded) || l.client.onMessageError(err) {
			l.log.Debug("message to the server dropped", "message", p.description, "error", err)
			return
		}
		l.warnings.logFailure(l.life.Context(), "message to the server lost", "message", p.description, "error", err)
	})
}
