package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
)

// HTTP reaches a server at a URL (the Streamable HTTP transport, in the form
// that the negotiated revision has). A server that refuses initialize with the
// status 400, 404 or 405 is tried over HTTP+SSE, as by [SSE].
//
// Its connections carry every request in an exchange of its own, so that what
// goes wrong with one, a status or a stream cut short, is the error of that
// call alone. A wrapper around such a connection hides that and loses it.
type HTTP struct {
	URL string

	// Client makes the requests; it is never changed or closed. Without a
	// CheckRedirect of its own, redirects to another origin are refused.
	// Default: a client that keeps enough idle connections for many concurrent
	// calls. A Timeout of it would cut long calls and standing streams: bound
	// calls by their contexts instead. Errors of its Transport can be found with
	// errors.As in the errors of calls.
	Client *http.Client

	// Header is added to every request. A User-Agent in it replaces "mcpchain"
	// with the version of this module.
	Header http.Header

	// MaxMessage bounds one message in bytes. Default 32 MiB.
	MaxMessage int

	// Before and After, when set, see every HTTP request before it is sent and
	// after the head of its response has come.
	Before, After func(context.Context, HTTPExchange)

	// Unauthorized, when set, is told of a response 401 or 403 and reports
	// whether to make the request again, which happens once: after it has changed
	// the token, for example. It may block; other requests go on meanwhile. If it
	// calls the Client, which Connect has not returned at first, then with ctx.
	Unauthorized func(ctx context.Context, x HTTPExchange) (again bool)
}

// Dial prepares the connection; no request is made yet.
func (t *HTTP) Dial(context.Context) (Conn, error) {
	u, err := url.Parse(t.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("HTTP.URL %q: want http://host/path or https://host/path", redactURL(t.URL))
	}
	c := &httpConn{url: t.URL, shown: redactURL(t.URL), fixed: t.Header.Clone(), max: t.MaxMessage}
	if c.max <= 0 {
		c.max = defaultMaxMessage
	}
	if t.Client != nil {
		c.client = *t.Client
	} else if base, ok := http.DefaultTransport.(*http.Transport); ok {
		c.idle = base.Clone()
		c.idle.MaxIdleConns, c.idle.MaxIdleConnsPerHost = 0, 1024
		c.client.Transport = c.idle
	}
	if c.client.CheckRedirect == nil {
		c.client.CheckRedirect = sameOrigin
	}
	c.agent = userAgent()
	c.hooks = hooks{t.Before, t.After, t.Unauthorized}
	c.secrets = secretsOf(u, c.fixed)
	c.draining = make(chan struct{}, maxDraining)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// sameOrigin refuses redirects that would carry a message elsewhere, or lose it.
func sameOrigin(req *http.Request, via []*http.Request) error {
	from := via[0].URL
	if req.URL.Scheme != from.Scheme || req.URL.Host != from.Host {
		return fmt.Errorf("redirect to another origin (%s://%s) refused: use that URL if you trust it", req.URL.Scheme, req.URL.Host)
	}
	if req.Method != via[0].Method {
		return fmt.Errorf("redirect that would turn %s into %s refused: its status should be 307 or 308", via[0].Method, req.Method)
	}
	if len(via) > 5 {
		return errors.New("more than 5 redirects")
	}
	return nil
}

// httpConn is an [exchanger].
type httpConn struct {
	url     string
	shown   string // url without secrets
	secrets []string
	client  http.Client
	idle    *http.Transport // of our own client
	fixed   http.Header
	agent   string
	max     int

	accept   accept
	bearer   bearer
	hooks    hooks
	session  atomic.Pointer[string]
	draining chan struct{} // a slot for each response that is being drained

	ctx    context.Context // ends when the connection is closed
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup // drains; none is added once closed is set
}

const (
	mediaJSON   = "application/json"
	mediaStream = "text/event-stream"

	sessionHeader = "Mcp-Session-Id"
)

// roundTrip implements [exchanger].
func (c *httpConn) roundTrip(ctx context.Context, m *outgoing, deliver func([]byte) bool) error {
	x := c.exchange(ctx)
	defer x.end()
	if m.opensSession {
		m.header = http.Header{sessionHeader: nil} // not that of an earlier one
	}
	resp, err := c.do(x.ctx, http.MethodPost, m.header, m.body)
	if err != nil {
		return err
	}
	if m.opensSession && resp.StatusCode == http.StatusOK {
		c.begin(resp.Header.Get(sessionHeader))
	}
	if resp.StatusCode != http.StatusOK || mediaType(resp) != mediaStream {
		defer func() { _ = resp.Body.Close() }()
		return c.single(resp, deliver)
	}
	stream := &eventStream{conn: c, header: m.header}
	body, err := stream.exchange(x.ctx, m.listened(resp.Body), deliver)
	if err == nil {
		c.drain(x, body)
	}
	return err
}

// exchange is the life of one HTTP request and its response. It ends with the
// context of the caller, unless a drain has taken it over, and with the
// connection.
type exchange struct {
	ctx     context.Context
	cancel  context.CancelFunc
	stop    func() bool // detaches it from the caller
	stopAll func() bool // detaches it from the connection
	drained bool
}

func (c *httpConn) exchange(ctx context.Context) *exchange {
	x := new(exchange)
	x.ctx, x.cancel = context.WithCancel(context.WithoutCancel(ctx))
	x.stop = context.AfterFunc(ctx, x.cancel)
	x.stopAll = context.AfterFunc(c.ctx, x.cancel)
	if c.ctx.Err() != nil {
		x.cancel()
	}
	return x
}

func (x *exchange) end() {
	if !x.drained {
		x.finish()
	}
}

func (x *exchange) finish() {
	x.stop()
	x.stopAll()
	x.cancel()
}

// post implements [exchanger].
func (c *httpConn) post(ctx context.Context, m *outgoing) error {
	x := c.exchange(ctx)
	defer x.end()
	resp, err := c.do(x.ctx, http.MethodPost, m.header, m.body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		defer func() { _ = resp.Body.Close() }()
		return c.statusError(resp)
	}
	c.drain(x, resp.Body)
	return nil
}

// Send posts a notification or a response; requests take another way.
func (c *httpConn) Send(ctx context.Context, message []byte) error {
	return c.post(ctx, &outgoing{body: message})
}

// Recv has nothing to return before the end: every message arrives in the
// response to a request, or on the standalone stream.
func (c *httpConn) Recv() ([]byte, error) {
	<-c.ctx.Done()
	return nil, io.EOF
}

// Close ends all exchanges.
func (c *httpConn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.wg.Wait()
	if c.idle != nil {
		c.idle.CloseIdleConnections()
	}
	return nil
}

// endSession implements [exchanger]. Whether the server listens is its own
// affair.
func (c *httpConn) endSession(ctx context.Context, header http.Header) {
	c.cancel()
	if c.session.Load() == nil {
		return
	}
	if resp, err := c.do(ctx, http.MethodDelete, header, nil); err == nil {
		_ = resp.Body.Close()
	}
}

// begin takes the session that a response names, "" for none.
func (c *httpConn) begin(id string) {
	if id == "" {
		c.session.Store(nil)
		return
	}
	c.session.Store(&id)
}

func (c *httpConn) sessionID() string {
	if id := c.session.Load(); id != nil {
		return *id
	}
	return ""
}

// once makes one HTTP request. accept is for requests that carry a message.
func (c *httpConn) once(ctx context.Context, method string, header http.Header, body []byte, accept []string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: invalid request", method, c.shown)
	}
	req.Header["User-Agent"] = []string{c.agent}
	for k, v := range c.fixed {
		req.Header[k] = v
	}
	if v, ok := c.bearer.header(); ok {
		req.Header["Authorization"] = []string{v}
	}
	for k, v := range header {
		req.Header[k] = v
	}
	switch method {
	case http.MethodPost:
		req.Header["Content-Type"] = []string{mediaJSON}
		req.Header["Accept"] = accept
	case http.MethodGet:
		req.Header["Accept"] = []string{mediaStream}
	}
	if _, without := header[sessionHeader]; !without && c.sessionID() != "" {
		req.Header[sessionHeader] = []string{c.sessionID()}
	}
	resp, err := c.client.Do(req)
	if err != nil && c.ctx.Err() != nil {
		return nil, ErrClosed
	}
	if err != nil {
		var wrapped *url.Error // its text has the whole URL
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		if text := c.scrub(err.Error()); text != err.Error() { // it quotes a redirect
			err = errors.New(cut(text))
		}
		return nil, fmt.Errorf("%s %s: %w", method, c.shown, err)
	}
	return resp, nil
}
