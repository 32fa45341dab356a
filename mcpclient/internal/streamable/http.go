// Package streamable reaches a server over HTTP: Streamable HTTP, and HTTP+SSE of
// revision 2024-11-05.
//
// # Bounds
//
//	redirects of a request       5, unless Client has a CheckRedirect
//	session id                   8 KiB
//	endpoint of SSE              8 KiB, within 10 s
//	id of an event               1 KiB; a longer one is not kept
//	connections for one answer   5 in a row that bring nothing
//	wait before the next one     what the server asks for, up to 1 h; otherwise 0.5 s to 30 s
//	body of a failed response    64 KiB are read, for 1 s
//	end of a replaced session    the server has 5 s to answer
//	idle connections             1,024, of the default client
package streamable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/mcpclient/internal/redact"
	"github.com/mcpchain/mcpchain/mcpclient/internal/redirect"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// HTTP is the transport of mcpclient.HTTP, which documents the fields.
type HTTP struct {
	URL           string
	SSE           bool
	Client        *http.Client
	Header        http.Header
	Token         transport.TokenSource
	WrapTransport func(next http.RoundTripper) http.RoundTripper
	MaxMessage    int
}

// Dial prepares the connection: see mcpclient.HTTP.
func (t *HTTP) Dial(ctx context.Context) (transport.Conn, error) {
	if t == nil {
		return nil, errors.New("no transport (a nil *mcpclient.HTTP)")
	}
	c, err := t.newConn()
	switch {
	case err != nil:
		return nil, err
	case t.SSE:
		return t.openStream(ctx, c)
	}
	return c, nil
}

func (t *HTTP) newConn() (*conn, error) {
	u, err := url.Parse(t.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("HTTP.URL %q: want http://host/path or https://host/path", redact.RawURL(t.URL))
	}
	c := &conn{
		url:     u.String(),
		secrets: redact.Of(u, t.Header),
		own:     canonical(t.Header),
		max:     cmp.Or(max(t.MaxMessage, 0), wire.DefaultMaxMessage),
		source:  t.Token,
	}
	c.exchanges.done = make(chan struct{})
	if t.Client != nil {
		c.client = *t.Client
	} else if base, ok := http.DefaultTransport.(*http.Transport); ok {
		c.idle = base.Clone()
		c.idle.MaxIdleConns, c.idle.MaxIdleConnsPerHost = 0, maxIdle
		c.client.Transport = c.idle
	}
	if t.WrapTransport != nil {
		if c.client.Transport = t.WrapTransport(cmp.Or(c.client.Transport, http.DefaultTransport)); c.client.Transport == nil {
			return nil, errors.New("HTTP.WrapTransport returned nil")
		}
	}
	if c.client.CheckRedirect == nil {
		c.client.CheckRedirect = redirect.SameOrigin
	}
	return c, nil
}

// maxIdle is how many connections of the default client may wait for calls.
const maxIdle = 1024

type conn struct {
	url     string
	secrets *redact.Secrets
	own     http.Header // the host's fields for every request; nil for none
	max     int

	client    http.Client
	idle      *http.Transport // the transport of client, if it is our own
	accept    accept
	keepAlive keepAlive

	source    transport.TokenSource   // nil for none
	session   atomic.Pointer[session] // nil for none
	retiring  retiring
	exchanges exchanges
}

const (
	mediaJSON   = "application/json"
	mediaStream = "text/event-stream"

	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
)

// Exchange implements [wire.Exchanger].
func (c *conn) Exchange(ctx context.Context, sent *wire.Message, deliver func([]byte) bool) error {
	m := newMessage(sent)
	m.awaitsAnswer = true
	if !m.joinOwn() {
		return wire.ErrSessionEnded
	}
	x := c.exchanges.begin(ctx, m)
	defer x.end()
	defer m.leave()
	resp, err := c.do(x, http.MethodPost, m)
	if err != nil {
		return err
	}
	if sent.Opens && resp.StatusCode == http.StatusOK {
		if err := c.startSession(m, resp.Header.Get(sessionHeader)); err != nil {
			_ = resp.Body.Close()
			return err
		}
	}
	if resp.StatusCode == http.StatusOK && mediaType(resp) == mediaStream {
		s := &eventStream{conn: c, header: m.header, session: m.session}
		return s.exchange(x, m.withReadHook(resp.Body), deliver)
	}
	defer func() { _ = resp.Body.Close() }()
	return c.deliverSingle(resp, m, deliver)
}

// Post implements [wire.Exchanger].
func (c *conn) Post(ctx context.Context, sent *wire.Message) error {
	m := newMessage(sent)
	if !m.joinOwn() {
		return wire.ErrSessionEnded
	}
	defer m.leave()
	x := c.exchanges.begin(ctx, m)
	defer x.end()
	resp, err := c.do(x, http.MethodPost, m)
	if err != nil && ctx.Err() != nil {
		return bound.Ended(ctx)
	}
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		defer func() { _ = resp.Body.Close() }()
		return c.statusError(resp)
	}
	x.drainBody(resp.Body)
	return nil
}

// Send posts a notification or a response. Requests go through Exchange.
func (c *conn) Send(ctx context.Context, message []byte) error {
	return c.Post(ctx, &wire.Message{Body: message})
}

// Recv returns nothing until the end, because every message arrives in the response
// to a request, or on the standalone stream.
func (c *conn) Recv() ([]byte, error) {
	<-c.exchanges.done
	return nil, io.EOF
}

// Close ends all exchanges. It waits for those that are being drained, but not for a
// body of the host's client that ignores the end of its context.
func (c *conn) Close() error {
	c.exchanges.close()
	c.exchanges.drains.wait(drainTime)
	c.retiring.stop(drainTime)
	if c.idle != nil {
		c.idle.CloseIdleConnections()
	}
	return nil
}

// Explain implements [wire.Explainer].
func (c *conn) Explain(err error) error {
	return fmt.Errorf("%w (%s gave no answer)", err, c.safeURL())
}

func (c *conn) safeURL() string {
	return redact.RawURL(c.url)
}

// Redact implements [wire.Redactor].
func (c *conn) Redact(text string) string {
	if s := c.session.Load(); s != nil && len(s.id) >= redact.Min {
		text = strings.ReplaceAll(text, s.id, "[session]")
	}
	return c.secrets.Redact(text)
}
