package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/internal/redact"
	"github.com/mcpchain/mcpchain/mcpclient/internal/version"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// acceptValues are the values of Accept to try, in order, when a server answers 406; the last is to send none.
var acceptValues = [][]string{{mediaJSON + ", " + mediaStream}, {mediaJSON}, {"*/*"}, nil}

// accept remembers the first of acceptValues that an endpoint accepts.
type accept struct{ level atomic.Int32 }

// next advances beyond a level that failed, and reports whether there is another. Otherwise it goes
// back to the first one.
func (a *accept) next(level int32) bool {
	if int(level) == len(acceptValues)-1 {
		a.level.Store(0) // Accept was not the reason
		return false
	}
	a.level.CompareAndSwap(level, level+1)
	return true
}

// do makes an HTTP request. It repeats a POST while the server answers 406 and there is another
// value of Accept, and any request but DELETE once with another token after 401 or 403: either way the
// server has refused to look at the message. The caller closes the body of the response.
func (c *conn) do(ctx context.Context, method string, m *message) (*http.Response, error) {
	var renewed *transport.Token
	for asked := m.sourceKnows; ; {
		c.assignSession(m)
		if err := c.authorize(ctx, m, renewed); err != nil {
			return nil, err
		}
		level := c.accept.level.Load()
		resp, err := c.doOnce(ctx, method, m, acceptValues[level])
		if err != nil {
			return nil, err
		}
		again := false
		switch {
		case method == http.MethodPost && resp.StatusCode == http.StatusNotAcceptable:
			again = c.accept.next(level)
		case !asked && c.isTokenRefusal(resp):
			asked = true
			if renewed, err = c.reauthorize(ctx, m, resp); err != nil {
				_ = resp.Body.Close()
				return nil, err
			}
			again = renewed != nil
		}
		if !again {
			return resp, nil
		}
		_ = resp.Body.Close()
		if !m.bound {
			m.leave() // there may be another session
		}
	}
}

// doOnce makes one HTTP request, and follows its redirects. accept is the value of Accept for a POST.
func (c *conn) doOnce(ctx context.Context, method string, m *message, accept []string) (*http.Response, error) {
	traced, old := c.keepAlive.avoidStale(ctx, m.sent.Repeatable)
	req, err := c.request(traced, method, m.sent.Body)
	if err != nil {
		return nil, err
	}
	req.Header = c.header(method, m, accept)
	resp, err := c.client.Do(req)
	if wrapped, ok := err.(*url.Error); ok {
		err = wrapped.Err // the text of the outer error has the whole URL
	}
	switch {
	case err != nil && old.causedFailure(err) && ctx.Err() == nil:
		return c.doOnce(ctx, method, m, accept)
	case err != nil:
		return nil, c.noResponseError(method, err)
	}
	c.keepAlive.observe(resp)
	if resp.Request == nil { // a RoundTripper of the host may leave it nil
		resp.Request = req
	}
	return resp, nil
}

func (c *conn) noResponseError(method string, err error) error {
	if c.exchanges.isClosed() {
		return transport.ErrClosed
	}
	if text := excerpt.Cut(c.Redact(err.Error())); text != err.Error() { // the text may quote a redirect
		err = redact.Error(text, err)
	}
	err = fmt.Errorf("%s %s: %w", method, c.safeURL(), err)
	// Before the response began: what the server did is unknown.
	if isBroken(err) {
		return &transport.BrokenError{Err: err}
	}
	return err
}

// isBroken reports whether a request failed because its connection could not be made or was cut. A
// name without an address, or an untrusted certificate, is not such a failure.
func isBroken(err error) bool {
	_, network := errors.AsType[*os.SyscallError](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isServerClosed(err)
}

// isServerClosed reports whether the server closed a connection in a way for which net/http has a
// text but no exported error.
func isServerClosed(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		for _, text := range []string{
			"http: server closed idle connection", // also a new one, before its first request was written
			"http2: server sent GOAWAY and closed the connection",
			"http2: client connection lost",
			"stream error: ", // HTTP/2: the server reset it, or its response is malformed
		} {
			if strings.HasPrefix(err.Error(), text) {
				return true
			}
		}
	}
	return false
}

func (c *conn) request(ctx context.Context, method string, body []byte) (*http.Request, error) {
	if len(body) == 0 {
		return http.NewRequestWithContext(ctx, method, c.url, nil)
	}
	return http.NewRequestWithContext(ctx, method, c.url, bytes.NewReader(body))
}

// canonical returns a copy of h in which names that differ in case only are one field; nil if h is empty.
func canonical(h http.Header) http.Header {
	if len(h) == 0 {
		return nil
	}
	own := make(http.Header, len(h))
	for _, name := range slices.Sorted(maps.Keys(h)) {
		key := http.CanonicalHeaderKey(name)
		own[key] = append(own[key], h[name]...)
	}
	return own
}

// header makes the header of a request. Fields of this request replace fields of all requests, and
// fields of the transport replace both.
func (c *conn) header(method string, m *message, accept []string) http.Header {
	h := make(http.Header, len(c.own)+len(m.header)+5)
	h["User-Agent"] = userAgent()
	maps.Copy(h, c.own)
	maps.Copy(h, m.header)
	switch method {
	case http.MethodPost:
		h["Content-Type"] = contentJSON
		h["Accept"] = accept
	case http.MethodGet:
		h["Accept"] = acceptStream
	}
	if m.token.Value != "" {
		h["Authorization"] = []string{"Bearer " + m.token.Value}
	}
	if s := m.session; s != nil && s.id != "" {
		h[sessionHeader] = []string{s.id}
	}
	return h
}

var (
	contentJSON  = []string{mediaJSON}
	acceptStream = []string{mediaStream}

	userAgent = sync.OnceValue(func() []string {
		if v := version.Module(); !strings.ContainsAny(v, " ()") {
			return []string{"mcpchain/" + v}
		}
		return []string{"mcpchain"}
	})
)
