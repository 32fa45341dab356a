package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
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
			if !asked && c.hooks.unauthorized != nil && (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden) {
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

// bearer is a token that can be changed while the connection is in use.
type bearer struct {
	mu     sync.Mutex
	token  string
	former []string // which may still be in an answer
}

const maxFormerTokens = 8

// set changes the token and returns the one before.
func (b *bearer) set(token string) (before string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, b.token = b.token, token
	if before != "" && before != token {
		b.former = append(b.former[max(0, len(b.former)-maxFormerTokens+1):], before)
	}
	return before
}

func (b *bearer) header() (value string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.token == "" {
		return "", false
	}
	return "Bearer " + b.token, true
}

// scrub takes the tokens out of text that the server sent.
func (b *bearer) scrub(text string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range append(b.former[:len(b.former):len(b.former)], b.token) {
		if t != "" {
			text = strings.ReplaceAll(text, t, "[secret]")
		}
	}
	return text
}

// SetBearerToken changes the token that this connection sends in Authorization,
// instead of what the Header of its transport says there; "" ends that. It is
// for HTTP and has no effect on other transports. Nothing of it is in an error.
//
// A legacy session belongs to whoever began it: where the token differs from the
// one before, a new session begins before SetBearerToken returns, and the server
// is told that the old one has ended. Calls under way go on in the old one. A
// connection over HTTP+SSE keeps its stream, and so does a modern one.
func (c *Client) SetBearerToken(ctx context.Context, token string) error {
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return errors.New("set bearer token: it has a character that no token has: a space, a line break or one beyond ASCII")
	}
	if conn, ok := c.link.Load().conn.(*sseConn); ok {
		conn.stream.bearer.set(token)
		conn.posts.bearer.set(token)
	}
	conn, ok := c.link.Load().conn.(*httpConn)
	if !ok {
		return nil
	}
	before := conn.bearer.set(token)
	if before == token {
		return nil
	}
	c.cache.clear()                   // what was kept may be for the eyes of the other token only
	if ctx.Value(renewing{}) != nil { // a session is just being begun
		return nil
	}
	if err := c.session.settle(ctx); err != nil { // one may be beginning with the token before
		return fmt.Errorf("set bearer token: %w", err)
	}
	id := conn.sessionID()
	if id == "" {
		return nil
	}
	if err := c.renew(ctx, id); err != nil {
		return fmt.Errorf("set bearer token: new session: %w", err)
	}
	header := c.current().header(nil).Clone()
	if header == nil {
		header = http.Header{}
	}
	header[sessionHeader] = []string{id}
	if before != "" {
		header["Authorization"] = []string{"Bearer " + before}
	}
	c.start(&c.own, func() { conn.endOld(c.ctx, header) })
	return nil
}

// endOld ends a session that is not the current one. Whether the server listens
// is its own affair.
func (c *httpConn) endOld(ctx context.Context, header http.Header) {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	if resp, err := c.do(ctx, http.MethodDelete, header, nil); err == nil {
		_ = resp.Body.Close()
	}
}

// userAgent is what the transport calls itself where its Header does not say.
func userAgent() string {
	if v := moduleVersion(); isToken(v) {
		return "mcpchain/" + v
	}
	return "mcpchain"
}
