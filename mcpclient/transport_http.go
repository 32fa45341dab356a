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

	// Client makes the requests; it is used as it is, never changed or closed.
	// Default: a client of its own that follows no redirect to another origin
	// and keeps enough idle connections for many concurrent calls.
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
	c := &httpConn{url: t.URL, shown: redactURL(t.URL), client: t.Client, fixed: t.Header.Clone(), max: t.MaxMessage}
	if c.max <= 0 {
		c.max = defaultMaxMessage
	}
	if c.client == nil {
		c.idle = http.DefaultTransport.(*http.Transport).Clone()
		c.idle.MaxIdleConns, c.idle.MaxIdleConnsPerHost = 0, 1024
		c.client = &http.Client{Transport: c.idle, CheckRedirect: sameOrigin}
	}
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
	url    string
	shown  string // url without secrets
	client *http.Client
	idle   *http.Transport // of our own client
	fixed  http.Header
	max    int

	session  atomic.Pointer[string]
	draining chan struct{}

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

const (
	mediaJSON   = "application/json"
	mediaStream = "text/event-stream"
)

// roundTrip implements [exchanger].
func (c *httpConn) roundTrip(ctx context.Context, m *outgoing, deliver func([]byte) bool) error {
	// The exchange outlives ctx a little when its answer has come, for the sake
	// of the connection under it: see drain.
	exchange, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	stopClose := context.AfterFunc(c.ctx, cancel)
	finish := func() { stop(); stopClose(); cancel() }

	resp, err := c.do(exchange, http.MethodPost, m.header, m.body)
	if err != nil {
		finish()
		return err
	}
	if id := resp.Header.Get("Mcp-Session-Id"); m.opensSession && id != "" {
		c.session.Store(&id)
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && media == mediaStream {
		stream := &eventStream{conn: c, header: m.header}
		err := stream.exchange(exchange, resp.Body, deliver)
		if err == nil {
			stop()
			c.drain(resp.Body, finish)
			return nil
		}
		_ = resp.Body.Close()
		finish()
		return err
	}
	defer finish()
	defer func() { _ = resp.Body.Close() }()
	return c.single(resp, media, deliver)
}

// single handles a response that is one message, or none.
func (c *httpConn) single(resp *http.Response, media string, deliver func([]byte) bool) error {
	if resp.StatusCode/100 != 2 {
		status := c.statusError(resp)
		if m, err := jsonrpc.Parse(status.raw); err == nil && m.Error != nil && deliver(status.raw) {
			return nil
		}
		return status
	}
	body, err := c.readBody(resp)
	switch {
	case err != nil:
		return err
	case len(bytes.TrimSpace(body)) == 0:
		return fmt.Errorf("%w: POST %s: HTTP status %d without a body in answer to a request", ErrInvalidResult, c.shown, resp.StatusCode)
	case media != mediaJSON:
		return fmt.Errorf("%w: POST %s: content type %q, want %s or %s: is this the URL of an MCP server? It begins %s",
			ErrInvalidResult, c.shown, cut(media), mediaJSON, mediaStream, quote(body[:min(len(body), 200)]))
	}
	deliver(body)
	return nil
}

// post implements [exchanger].
func (c *httpConn) post(ctx context.Context, m *outgoing) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	resp, err := c.do(ctx, http.MethodPost, m.header, m.body)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode/100 != 2 {
		return c.statusError(resp)
	}
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrain)
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
	c.cancel()
	c.wg.Wait()
	if c.idle != nil {
		c.idle.CloseIdleConnections()
	}
	return nil
}

// endSession tells the server that the session is over; whether it listens is
// its own affair.
func (c *httpConn) endSession(ctx context.Context, header http.Header) {
	if c.session.Load() == nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
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
		Body:       cut(strings.TrimSpace(string(raw))),
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

// drain reads the end of a stream whose answer has come, so that the connection
// under it can be used again. It gives up when the server keeps the stream open
// or says more.
func (c *httpConn) drain(body io.ReadCloser, finish func()) {
	select {
	case c.draining <- struct{}{}:
	default:
		_ = body.Close()
		finish()
		return
	}
	c.wg.Go(func() {
		defer func() { <-c.draining }()
		defer finish()
		defer func() { _ = body.Close() }()
		timer := time.AfterFunc(drainTime, finish)
		defer timer.Stop()
		_, _ = io.CopyN(io.Discard, body, maxDrain)
	})
}
