package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
)

// bearer is a token that can be changed while it is in use.
type bearer struct{ now atomic.Pointer[tokens] } // nil before the first

// tokens are those so far.
type tokens struct {
	token  string   // "" for none any more
	header []string // the value of Authorization; nil for none
	former []string // which may still be in an answer
}

const maxFormerTokens = 8

// set changes the token and returns the one before.
func (b *bearer) set(token string) (before string) {
	for {
		old := b.now.Load()
		next := &tokens{token: token}
		if token != "" {
			next.header = []string{"Bearer " + token}
		}
		if old != nil {
			before, next.former = old.token, old.former
			if before != "" && before != token {
				former := old.former[max(0, len(old.former)-maxFormerTokens+1):]
				next.former = append(slices.Clip(former), before)
			}
		}
		if b.now.CompareAndSwap(old, next) {
			return before
		}
	}
}

// header is the value of Authorization, nil for none.
func (b *bearer) header() *[]string {
	if t := b.now.Load(); t != nil && t.header != nil {
		return &t.header
	}
	return nil
}

// authorization is the value of Authorization now. Nobody changes it.
func (c *httpConn) authorization() *[]string {
	if v := c.bearer.header(); v != nil {
		return v
	}
	return c.fixedAuthorization()
}

// credentials is the value of Authorization with a token, "" for none.
func (c *httpConn) credentials(token string) *[]string {
	if token != "" {
		return &[]string{"Bearer " + token}
	}
	return c.fixedAuthorization()
}

// fixedAuthorization is the value that the Header of the transport has.
func (c *httpConn) fixedAuthorization() *[]string {
	for i := range c.fixed {
		if c.fixed[i].key == "Authorization" {
			return &c.fixed[i].values
		}
	}
	return new([]string)
}

// bearerOf is that of the client which dials with this context, or a new one.
func bearerOf(ctx context.Context) *bearer {
	if d := dialingOf(ctx); d != nil {
		return &d.client.bearer
	}
	return new(bearer)
}

// adoptBearer gives a new connection the token of the client, also where a transport of
// the host's has dialed it with another context than that of its own dial.
func (c *Client) adoptBearer(conn Conn) {
	switch conn := conn.(type) {
	case *httpConn:
		conn.bearer = &c.bearer
	case *sseConn:
		conn.stream.bearer, conn.posts.bearer = &c.bearer, &c.bearer
	}
}

// scrub takes the tokens out of text that the server sent.
func (b *bearer) scrub(text string) string {
	now := b.now.Load()
	if now == nil {
		return text
	}
	for _, t := range append(slices.Clip(now.former), now.token) {
		if len(t) >= minSecret {
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
// is told that the old one has ended. Calls under way belong to the old one and go
// on in that, with the token before, and so do the questions that the server asks
// in them: it is told when they have ended, or the client is closed. A connection
// over HTTP+SSE keeps its stream and its calls, and so does a modern one.
//
// A token that cannot be one is refused, and nothing has changed. After any other
// error the token is set, and is that of the next session. The one that there is goes
// on: with the new token where no session could be begun with that, with its own
// where ctx ended while it waited for another to begin; then set the token once more.
// Where ctx ended later, the new session is still being begun, and calls wait for it.
func (c *Client) SetBearerToken(ctx context.Context, token string) error {
	if scheme, _, ok := strings.Cut(token, " "); ok && strings.EqualFold(scheme, "Bearer") {
		return errors.New("set bearer token: want the token without the word Bearer before it")
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return errors.New("set bearer token: it has a character that no token has: a space, a line break or one beyond ASCII")
	}
	if c.bearer.set(token) != token {
		c.cache.get().clear() // what was kept may be for the eyes of the other token only
	}
	l := c.link.Load()
	if l == nil { // a hook of the first connection calls
		return nil
	}
	conn, ok := l.conn.(*httpConn)
	if !ok {
		return nil
	}
	if r, ok := ctx.Value(renewing{&c.session}).(*renewal); ok { // a session is just being begun
		r.token.Store(&token)
		return nil
	}
	if err := c.session.settle(ctx); err != nil { // one may be beginning with the token before
		return fmt.Errorf("set bearer token: %w", err)
	}
	old := conn.session.Load()
	if old == nil || slices.Equal(*old.credentials.Load(), *conn.credentials(token)) {
		return nil
	}
	err := c.renew(ctx, old.id[0], func(ctx context.Context) error {
		err := c.beginNext(ctx)
		if conn.session.Load() == old { // it goes on
			old.credentials.Store(conn.credentials(c.session.tokenOf(ctx, token)))
		} else {
			c.retire(conn, old)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("set bearer token: new session: %w", err)
	}
	return nil
}

// tokenOf is the token that a hook has set in the renewal of this context, or else
// the one that it began with. Another that is set meanwhile has a renewal to come.
func (s *session) tokenOf(ctx context.Context, first string) string {
	if r, ok := ctx.Value(renewing{s}).(*renewal); ok {
		if set := r.token.Load(); set != nil {
			return *set
		}
	}
	return first
}

// retire has the server told that a session has ended, once its calls have.
func (c *Client) retire(conn *httpConn, s *httpSession) {
	header := c.current().header(nil, nil)
	retiring := conn.retiring.get()
	retiring.began()
	if !c.start(&c.own, func() {
		defer retiring.ended()
		conn.retire(c.life(), s, header)
	}) {
		retiring.ended()
	}
}
