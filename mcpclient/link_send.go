package mcpclient

import (
	"cmp"
	"context"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// notify sends a notification.
func (l *link) notify(ctx context.Context, c *Client, method string, params []byte) error {
	if c.sending != nil {
		return c.throughNotify(ctx, l, method, params)
	}
	return l.postNotification(ctx, c, method, params)
}

// postNotification is notify past Options.Middleware.
func (l *link) postNotification(ctx context.Context, c *Client, method string, params []byte) error {
	header := c.current().header(nil, &request{method: method})
	return l.post(ctx, c, jsonrpc.AppendNotification(nil, method, params), header, nil)
}

// hand gives a message to a connection that is no exchanger.
func (l *link) hand(ctx context.Context, body []byte, header fields) error {
	if l.headed == nil {
		return l.conn.Send(ctx, body)
	}
	return l.headed.SendWithHeader(ctx, body, header.own())
}

// post sends a message that has no response, in a session that it belongs to, nil
// for the one that there is. The error is [transport.ErrSessionOver] if it came too late.
func (l *link) post(ctx context.Context, c *Client, body []byte, header fields, s transport.Session) error {
	if l.exchange == nil {
		err := l.hand(ctx, body, header)
		if err != nil {
			return cmp.Or(c.refused(l), err)
		}
		return nil
	}
	err := l.exchange.Post(ctx, &transport.Message{Body: body, Header: header.shared(), In: s})
	if err != nil && ctx.Err() != nil {
		return ended(ctx)
	}
	return err
}
