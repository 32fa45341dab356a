package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// HTTP reaches a server at a URL (the Streamable HTTP transport, in the form
// that the negotiated revision has).
//
// Its connections carry every request in an exchange of its own, so that what
// goes wrong with one, a status or a stream cut short, is the error of that
// call alone. A wrapper around such a connection hides that and loses it.
type HTTP struct {
	URL string

	// Client makes the requests; it is never changed or closed. Without a
	// CheckRedirect of its own, redirects to another origin are refused.
	// Default: a client that keeps enough idle connections for many concurrent
	// calls.
	Client *http.Client

	// Header is added to every request.
	Header http.Header

	// MaxMessage bounds one message in bytes. Default 32 MiB.
	MaxMessage int
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
	c.secrets = secretsOf(u, c.fixed)
	c.draining = make(chan struct{}, maxDraining)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// sameOrigin refuses redirects that would carry a message elsewhere.
func sameOrigin(req *http.Request, via []*http.Request) error {
	from := via[0].URL
	if req.URL.Scheme != from.Scheme || req.URL.Host != from.Host {
		return fmt.Errorf("redirect to another origin (%s://%s) refused: use that URL if you trust it", req.URL.Scheme, req.URL.Host)
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
	max     int

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
)

// roundTrip implements [exchanger].
func (c *httpConn) roundTrip(ctx context.Context, m *outgoing, deliver func([]byte) bool) error {
	x := c.exchange(ctx)
	defer x.end()
	resp, err := c.do(x.ctx, http.MethodPost, m.header, m.body)
	if err != nil {
		return err
	}
	if id := resp.Header.Get("Mcp-Session-Id"); m.opensSession && id != "" {
		c.session.Store(&id)
	}
	if resp.StatusCode != http.StatusOK || mediaType(resp) != mediaStream {
		defer func() { _ = resp.Body.Close() }()
		return c.single(resp, deliver)
	}
	stream := &eventStream{conn: c, header: m.header}
	body, err := stream.exchange(x.ctx, resp.Body, deliver)
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

func mediaType(resp *http.Response) string {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return media
}

// single handles a response that is one message, or none.
func (c *httpConn) single(resp *http.Response, deliver func([]byte) bool) error {
	if resp.StatusCode/100 != 2 {
		return c.refused(resp, deliver)
	}
	body, err := c.readBody(resp)
	media := mediaType(resp)
	switch {
	case err != nil:
		return err
	case len(bytes.TrimSpace(body)) == 0:
		return fmt.Errorf("%w: POST %s: HTTP status %d without a body in answer to a request", ErrInvalidResult, c.shown, resp.StatusCode)
	case media != mediaJSON:
		return fmt.Errorf("%w: POST %s: content type %q, want %s or %s: is this the URL of an MCP server? It begins %s",
			ErrInvalidResult, c.shown, cut(media), mediaJSON, mediaStream, quote([]byte(c.scrub(string(body[:min(len(body), 200)])))))
	}
	deliver(body)
	return nil
}

// refused handles a failure status. A JSON-RPC error in the body is the
// server's answer, unless the status is about more than this request.
func (c *httpConn) refused(resp *http.Response, deliver func([]byte) bool) error {
	failure := c.statusError(resp)
	m, err := jsonrpc.Parse(failure.raw)
	if err != nil || m.Error == nil {
		return failure
	}
	rpc, ok := errors.AsType[*RPCError](rpcError(m.Error))
	beyond := failure.transient() || failure.Status == http.StatusUnauthorized || failure.Status == http.StatusForbidden
	if ok && (!beyond || rpc.modern()) && deliver(failure.raw) {
		return nil
	}
	failure.rpc = rpc
	return failure
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

func (c *httpConn) sessionID() string {
	if id := c.session.Load(); id != nil {
		return *id
	}
	return ""
}

// do makes one HTTP request.
func (c *httpConn) do(ctx context.Context, method string, header http.Header, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: invalid request", method, c.shown)
	}
	for k, v := range c.fixed {
		req.Header[k] = v
	}
	for k, v := range header {
		req.Header[k] = v
	}
	switch method {
	case http.MethodPost:
		req.Header["Content-Type"] = []string{mediaJSON}
		req.Header["Accept"] = []string{mediaJSON + ", " + mediaStream}
	case http.MethodGet:
		req.Header["Accept"] = []string{mediaStream}
	}
	if id := c.session.Load(); id != nil {
		req.Header["Mcp-Session-Id"] = []string{*id}
	}
	resp, err := c.client.Do(req)
	if err != nil {
		var wrapped *url.Error // its text has the whole URL
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, fmt.Errorf("%s %s: %w", method, c.shown, err)
	}
	return resp, nil
}

// secretsOf lists what a server may echo and no error may show.
func secretsOf(u *url.URL, header http.Header) []string {
	password, _ := u.User.Password()
	secrets := []string{u.RawQuery, password}
	for _, values := range u.Query() {
		secrets = append(secrets, values...)
	}
	for _, values := range header {
		for _, v := range values {
			_, credentials, _ := strings.Cut(v, " ") // behind the scheme of an Authorization
			secrets = append(secrets, v, credentials)
		}
	}
	const long = 6 // what is shorter hides nothing, and would spoil the text
	return slices.DeleteFunc(secrets, func(s string) bool { return len(s) < long })
}

// scrub takes what is secret out of text that the server sent.
func (c *httpConn) scrub(text string) string {
	if id := c.sessionID(); id != "" {
		text = strings.ReplaceAll(text, id, "[session]")
	}
	for _, secret := range c.secrets {
		text = strings.ReplaceAll(text, secret, "[secret]")
	}
	return text
}

// readBody reads a body within the bound of a message.
func (c *httpConn) readBody(resp *http.Response) ([]byte, error) {
	tooLarge := fmt.Errorf("%w: the body of the response is over %d bytes (HTTP.MaxMessage)", ErrMessageTooLarge, c.max)
	if resp.ContentLength > int64(c.max) {
		return nil, tooLarge
	}
	var buf bytes.Buffer
	if resp.ContentLength > 0 {
		buf.Grow(int(resp.ContentLength) + bytes.MinRead)
	}
	n, err := buf.ReadFrom(io.LimitReader(resp.Body, int64(c.max)+1))
	if err != nil {
		return nil, fmt.Errorf("response to POST %s was cut after %d bytes: %w", c.shown, n, err)
	}
	if n > int64(c.max) {
		return nil, tooLarge
	}
	return buf.Bytes(), nil
}

// statusError makes an error of a response that has a failure status.
func (c *httpConn) statusError(resp *http.Response) *HTTPError {
	const maxErrorBody = 64 << 10
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	return &HTTPError{
		Method:     resp.Request.Method,
		URL:        c.shown,
		Status:     resp.StatusCode,
		Body:       cut(c.scrub(strings.TrimSpace(string(raw)))),
		RetryAfter: retryAfter(resp.Header.Get("Retry-After"), time.Now()),
		raw:        raw,
	}
}

// retryAfter reads both forms of the Retry-After header; zero is none.
func retryAfter(v string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(v); err == nil {
		return time.Duration(max(0, min(seconds, 86400))) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, min(at.Sub(now), 24*time.Hour))
	}
	return 0
}

// redactURL is a URL without what may be secret: user info, query, fragment.
func redactURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(not a URL)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

const (
	maxDraining = 64
	maxDrain    = 4 << 10
	drainTime   = time.Second
)

// drain reads the end of a response that is not needed any more, so that the
// connection under it can be used again, and ends the exchange. It gives up
// when the server keeps the response open or says more.
func (c *httpConn) drain(x *exchange, body io.ReadCloser) {
	if body == http.NoBody || !c.startDrain(x, body) {
		_ = body.Close()
	}
}

// startDrain drains on a goroutine, unless too many responses are being drained.
func (c *httpConn) startDrain(x *exchange, body io.ReadCloser) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	select {
	case c.draining <- struct{}{}:
	default:
		return false
	}
	x.stop()
	x.drained = true
	c.wg.Go(func() {
		defer func() { <-c.draining }()
		defer x.finish()
		defer func() { _ = body.Close() }()
		timer := time.AfterFunc(drainTime, x.finish)
		defer timer.Stop()
		_, _ = io.CopyN(io.Discard, body, maxDrain)
	})
	return true
}
