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

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/sse"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// SSE is what mcpclient.SSE says.
type SSE struct {
	URL          string
	Client       *http.Client
	Header       http.Header
	Token        transport.TokenSource
	RoundTripper func(next http.RoundTripper) http.RoundTripper
	MaxMessage   int
}

// streamable is the transport with the same settings that makes the requests. The
// conversion holds both types to the same fields.
func (t *SSE) streamable(url string) *HTTP {
	h := HTTP(*t)
	h.URL = url
	return &h
}

const (
	endpointTimeout = 10 * time.Second // bounds the wait for the endpoint
	maxEndpoint     = 8 << 10
)

// Dial opens the stream and waits up to 10 s for the endpoint, which must be on
// the same origin. The error is an [*transport.HTTPError] if the status says why there is no
// stream, and matches [mcp.ErrInvalidResult] if what came is no such stream.
func (t *SSE) Dial(ctx context.Context) (_ transport.Conn, err error) {
	if t == nil {
		return nil, errors.New("no transport (a nil *mcpclient.SSE)")
	}
	stream, err := t.streamable(t.URL).Dial(ctx)
	if err != nil {
		return nil, errors.New(strings.Replace(err.Error(), "HTTP.", "SSE.", 1))
	}
	c := &sseConn{recipe: t, stream: stream.(*conn)}
	defer func() {
		if err != nil {
			_ = c.Close()
		}
	}()
	wait, cancel := context.WithTimeoutCause(ctx, endpointTimeout, fmt.Errorf("no endpoint within %v", endpointTimeout))
	defer cancel()
	m := &message{sent: new(wire.Message), bound: true}
	c.life = c.stream.exchanges.begin(wait, false, false)
	resp, err := c.stream.do(c.life, http.MethodGet, m)
	if err == nil {
		c.body = resp.Body
		err = c.open(ctx, resp)
	}
	switch {
	case err != nil && wait.Err() != nil:
		return nil, fmt.Errorf("GET %s: %w", c.stream.shown(), ended(wait))
	case err != nil:
		return nil, err
	case !c.life.detach(): // the connection outlives the dialing
		return nil, ended(wait)
	}
	return c, nil
}

// sseConn is a shared connection over an event stream and an endpoint.
type sseConn struct {
	recipe *SSE
	stream *conn     // makes the stream
	posts  *conn     // posts to the endpoint
	life   *exchange // of the stream
	body   io.ReadCloser
	events *sse.Reader
}

// open reads the beginning of the stream up to the endpoint.
func (c *sseConn) open(ctx context.Context, resp *http.Response) error {
	shown := c.stream.shown()
	switch {
	case resp.StatusCode/100 != 2:
		return c.stream.statusError(resp)
	case mediaType(resp) != mediaStream:
		return fmt.Errorf("%w: GET %s: content type %q, want %s", mcp.ErrInvalidResult, shown, c.stream.shownType(resp), mediaStream)
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
		return c.endpoint(ctx, resp.Request.URL, strings.TrimSpace(string(event.Data)))
	}
}

// endpoint takes the URL to post to, which may be relative to that of the stream.
// Another origin would be told what was meant for this one.
func (c *sseConn) endpoint(ctx context.Context, base *url.URL, raw string) error {
	named, err := url.Parse(raw)
	if err != nil || len(raw) > maxEndpoint {
		return fmt.Errorf("%w: GET %s: the endpoint is not a URL of up to %d bytes", mcp.ErrInvalidResult, c.stream.shown(), maxEndpoint)
	}
	u := base.ResolveReference(named)
	if u.Scheme != base.Scheme || !strings.EqualFold(u.Host, base.Host) {
		return fmt.Errorf("%w: GET %s: the endpoint is on another origin (%s://%s)", mcp.ErrInvalidResult, c.stream.shown(), excerpt.Cut(u.Scheme), excerpt.Cut(u.Host))
	}
	u.User, u.Fragment = base.User, ""
	posts := c.recipe.streamable(u.String())
	posts.Client, posts.RoundTripper = &c.stream.client, nil // the client has it
	dialed, err := posts.Dial(ctx)
	if err != nil {
		return fmt.Errorf("%w: endpoint: %w", mcp.ErrInvalidResult, err)
	}
	c.posts = dialed.(*conn)
	return nil
}

// Send posts a message. That the server accepted it says nothing of its answer.
func (c *sseConn) Send(ctx context.Context, message []byte) error {
	return c.posts.Send(ctx, bytes.Clone(message)) // the body of a request may be read after its response
}

// Recv returns the next message of the stream.
func (c *sseConn) Recv() ([]byte, error) {
	for {
		event, err := c.events.Next()
		var large *sse.TooLargeError
		switch {
		case errors.As(err, &large):
			return nil, &transport.MessageError{Err: fmt.Errorf("%w: an event is over %d bytes, which SSE.MaxMessage can raise", transport.ErrMessageTooLarge, large.Limit)}
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		case err != nil:
			return nil, fmt.Errorf("the event stream broke: %w", err)
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

// older reports a status that a server of 2024-11-05 answers initialize with.
func (e *statusError) older() bool {
	return e.Status == http.StatusBadRequest || e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed
}

// Acknowledged implements [wire.Acknowledger]: the server may act on a message
// before it confirms it.
func (c *sseConn) Acknowledged() bool { return true }
