package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// HTTPExchange is what the hooks of [HTTP] see of one HTTP request and its
// response. Their functions run on the goroutine of the request, several at the
// same time.
type HTTPExchange struct {
	HTTPMethod string // POST, GET or DELETE
	Method     string // of the JSON-RPC request or notification, "" for others

	Status int         // of the response, zero before there is one
	Header http.Header // of the response; not to be changed
	Body   string      // the first KiB without secrets, "" for an event stream
}

// accepts are the values of Accept to try, in this order, when a server answers
// 406; the last is to send none.
var accepts = [...][]string{{mediaJSON + ", " + mediaStream}, {mediaJSON}, {"*/*"}, nil}

// accept is the first of them that an endpoint takes.
type accept struct{ level atomic.Int32 }

// next goes one further than level, which failed, if there is more.
func (a *accept) next(level int32) bool {
	if int(level) == len(accepts)-1 {
		a.level.Store(0) // it was not that
		return false
	}
	a.level.CompareAndSwap(level, level+1)
	return true
}

// do makes an HTTP request. It makes it again with other words for the same when
// the server takes another Accept, and once when the hook for 401 and 403 asks
// for that: in either case the server has refused to look at the message.
func (c *httpConn) do(ctx context.Context, method string, header http.Header, body []byte) (*http.Response, error) {
	x := HTTPExchange{HTTPMethod: method}
	if c.hooks.any() && len(body) > 0 {
		if m, err := jsonrpc.Parse(body); err == nil {
			x.Method = m.Method
		}
	}
	for asked := false; ; {
		level := c.accept.level.Load()
		if c.hooks.before != nil {
			c.hooks.before(ctx, x)
		}
		resp, err := c.once(ctx, method, header, body, accepts[level])
		if err != nil {
			return nil, err
		}
		again := method == http.MethodPost && resp.StatusCode == http.StatusNotAcceptable && c.accept.next(level)
		if c.hooks.any() {
			seen := c.seen(x, resp)
			if c.hooks.after != nil {
				c.hooks.after(ctx, seen)
			}
			if !asked && c.hooks.asks(resp) {
				asked = true
				again = c.hooks.unauthorized(ctx, seen)
			}
		}
		if !again {
			return resp, nil
		}
		_ = resp.Body.Close()
	}
}

// hooks are those of an [HTTP] transport; each may be nil.
type hooks struct {
	before, after func(context.Context, HTTPExchange)
	unauthorized  func(context.Context, HTTPExchange) bool
}

func (h *hooks) any() bool { return h.before != nil || h.after != nil || h.unauthorized != nil }

// asks reports whether to ask the hook for 401 and 403. What it would change is no
// affair of a session that ends.
func (h *hooks) asks(resp *http.Response) bool {
	return h.unauthorized != nil && resp.Request.Method != http.MethodDelete &&
		(resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden)
}

// seen is what hooks see of a response. What it reads of the body is put back.
func (c *httpConn) seen(x HTTPExchange, resp *http.Response) HTTPExchange {
	x.Status, x.Header = resp.StatusCode, resp.Header
	if resp.StatusCode/100 == 2 && mediaType(resp) != mediaJSON {
		return x
	}
	head, _ := io.ReadAll(io.LimitReader(resp.Body, maxQuoted))
	x.Body = c.scrub(string(head))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(strings.NewReader(string(head)), resp.Body), resp.Body}
	return x
}

// once makes one HTTP request. header is for this request; accept is for
// requests that carry a message.
func (c *httpConn) once(ctx context.Context, method string, header http.Header, body []byte, accept []string) (*http.Response, error) {
	req := c.request(ctx, method, body)
	req.Header = c.header(method, header, accept)
	resp, err := c.client.Do(req)
	switch {
	case err == nil:
		if resp.Request == nil { // as the host's RoundTripper may leave it
			resp.Request = req
		}
		return resp, nil
	case c.ctx.Err() != nil:
		return nil, ErrClosed
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok { // its text has the whole URL
		err = wrapped.Err
	}
	if text := c.scrub(err.Error()); text != err.Error() { // it quotes a redirect
		err = &scrubbedError{cut(text), err}
	}
	return nil, fmt.Errorf("%s %s: %w", method, c.shown, err)
}

// request makes a request without its header. It shares no memory that the
// caller's RoundTripper may change.
func (c *httpConn) request(ctx context.Context, method string, body []byte) *http.Request {
	u := *c.url
	req := (&http.Request{Method: method, URL: &u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
	if len(body) > 0 {
		req.ContentLength = int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil } // for redirects
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	return req
}

// field is one of a header.
type field struct {
	key    string
	values []string
}

// fixedFields are those that every request has. Names that differ in case only
// are one field.
func fixedFields(h http.Header) []field {
	all := make(http.Header, len(h)+1)
	for _, name := range slices.Sorted(maps.Keys(h)) {
		key := http.CanonicalHeaderKey(name)
		all[key] = append(all[key], h[name]...)
	}
	if _, ok := all["User-Agent"]; !ok {
		all["User-Agent"] = []string{userAgent()}
	}
	fields := make([]field, 0, len(all))
	for key, values := range all {
		fields = append(fields, field{key, slices.Clip(values)})
	}
	return fields
}

// header makes the header of a request. What is for this request wins over what
// is for all, and what the transport demands over that.
func (c *httpConn) header(method string, own http.Header, accept []string) http.Header {
	h := make(http.Header, len(c.fixed)+len(own)+4)
	for _, f := range c.fixed {
		h[f.key] = f.values
	}
	if v := c.bearer.header(); v != nil {
		h["Authorization"] = v
	}
	maps.Copy(h, own)
	switch method {
	case http.MethodPost:
		h["Content-Type"] = contentJSON
		h["Accept"] = accept
	case http.MethodGet:
		h["Accept"] = acceptStream
	}
	if _, without := own[sessionHeader]; !without {
		if v := c.sessionValue(); v != nil {
			h[sessionHeader] = v
		}
	}
	return h
}

// Values of headers are shared: nobody changes them in place.
var (
	contentJSON  = []string{mediaJSON}
	acceptStream = []string{mediaStream}
)

// userAgent is what the transport calls itself where its Header does not say.
func userAgent() string {
	if v := moduleVersion(); isToken(v) {
		return "mcpchain/" + v
	}
	return "mcpchain"
}
