package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/reach"
	"github.com/mcpchain/mcpchain/internal/sse"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

const (
	endpointTimeout = 10 * time.Second // bounds the wait for the endpoint
	maxEndpoint     = 8 << 10
)

// openStream opens the stream of a server of 2024-11-05 and waits for the endpoint: see mcpclient.HTTP.Dial.
func (t *HTTP) openStream(ctx context.Context, stream *conn) (_ transport.Conn, err error) {
	c := &sseConn{dialed: t, stream: stream}
	defer func() {
		if err != nil {
			_ = c.Close()
		}
	}()
	wait := bound.Within(ctx, bound.Limits{Idle: endpointTimeout}) // a person who signs in may take longer
	defer wait.Stop()
	m := &message{sent: new(wire.Message), bound: true}
	c.life = c.stream.exchanges.begin(wait, m)
	resp, err := c.stream.do(c.life, http.MethodGet, m)
	if err == nil {
		c.body = resp.Body
		err = c.readEndpoint(resp)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("GET %s: %w", c.stream.safeURL(), bound.Ended(ctx))
	case err != nil && wait.Err() != nil:
		return nil, fmt.Errorf("GET %s: no endpoint within %v: %w", c.stream.safeURL(), endpointTimeout, wait.Err())
	case err != nil:
		return nil, err
	case !c.life.detach(): // the connection outlives the dialing
		return nil, bound.Ended(wait)
	}
	return c, nil
}

type sseConn struct {
	dialed *HTTP
	stream *conn     // receives the stream
	posts  *conn     // posts to the endpoint
	life   *exchange // the exchange of the stream
	body   io.ReadCloser
	events *sse.Reader
}

func (c *sseConn) readEndpoint(resp *http.Response) error {
	shown := c.stream.safeURL()
	switch {
	case resp.StatusCode/100 != 2:
		return c.stream.statusError(resp)
	case mediaType(resp) != mediaStream:
		return fmt.Errorf("%w: GET %s: content type %q, want %s", mcp.ErrInvalidResult, shown, c.stream.safeContentType(resp), mediaStream)
	}
	c.events = sse.NewReader(c.body, c.stream.max)
	for {
		event, err := c.events.Next()
		switch {
		case err != nil:
			return fmt.Errorf("GET %s: the stream ended before it named an endpoint: %w", shown, err)
		case event.Data == nil:
			continue
		case event.Type != "endpoint":
			return fmt.Errorf("%w: GET %s: the first event is %q, want the endpoint", mcp.ErrInvalidResult, shown, excerpt.Cut(event.Type))
		}
		return c.setEndpoint(resp.Request.URL, strings.TrimSpace(string(event.Data)))
	}
}

// setEndpoint sets the URL for posts, which may be relative to the URL of the stream. It must have
// the same origin, because the messages are meant for that one.
func (c *sseConn) setEndpoint(base *url.URL, raw string) error {
	named, err := url.Parse(raw)
	if err != nil || len(raw) > maxEndpoint {
		return fmt.Errorf("%w: GET %s: the endpoint is not a URL of up to %d bytes", mcp.ErrInvalidResult, c.stream.safeURL(), maxEndpoint)
	}
	u := base.ResolveReference(named)
	if reach.Origin(u) != reach.Origin(base) {
		return fmt.Errorf("%w: GET %s: the endpoint is on another origin (%q)",
			mcp.ErrInvalidResult, c.stream.safeURL(), excerpt.Cut(u.Scheme+"://"+u.Host))
	}
	u.User, u.Fragment = base.User, ""
	endpoint := *c.dialed
	endpoint.URL = u.String()
	endpoint.Client, endpoint.WrapTransport = &c.stream.client, nil // the client includes it
	if c.posts, err = endpoint.newConn(); err != nil {
		return fmt.Errorf("%w: endpoint: %w", mcp.ErrInvalidResult, err)
	}
	return nil
}

// Send posts a message. Acceptance by the server says nothing about its answer.
func (c *sseConn) Send(ctx context.Context, message []byte) error {
	return c.posts.Send(ctx, bytes.Clone(message)) // the body of a request may be read after its response
}

// Recv returns the next message of the stream.
func (c *sseConn) Recv() ([]byte, error) {
	for {
		event, err := c.events.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		case err != nil:
			err = eventError(err)
			if errors.Is(err, transport.ErrMessageTooLarge) {
				err = &transport.MessageError{Err: err}
			}
			return nil, err
		case event.Type == "message" && len(event.Data) > 0:
			return event.Data, nil
		}
	}
}

// Redact implements [wire.Redactor] for both halves of the connection.
func (c *sseConn) Redact(text string) string {
	text = c.stream.Redact(text)
	if c.posts != nil {
		text = c.posts.Redact(text)
	}
	return text
}

// Close ends the stream, and with it the session.
func (c *sseConn) Close() error {
	if c.life != nil {
		c.life.end()
	}
	if c.body != nil {
		_ = c.body.Close()
	}
	if c.posts != nil {
		_ = c.posts.Close()
	}
	return c.stream.Close()
}

// Acknowledged implements [wire.Acknowledger]: the server may act on a message before it confirms it.
func (c *sseConn) Acknowledged() bool { return true }
