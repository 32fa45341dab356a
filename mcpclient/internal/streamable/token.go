package streamable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/mcpclient/internal/redact"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// requestToken gets a token from the source, and adds it to the secrets that errors and logs hide.
// The time that the source takes does not count as silence of the server.
func (c *conn) requestToken(ctx context.Context, refused *transport.Refusal) (transport.Token, error) {
	defer bound.From(ctx).Hold()() // a person may sign in
	var t transport.Token
	err := bound.Run(wire.TokenSource, func() (err error) { // not always on a goroutine of the host
		t, err = c.source.Token(ctx, refused)
		return err
	})
	if err = cmp.Or(err, redact.CheckToken(t.Value)); err != nil {
		return transport.Token{}, fmt.Errorf("HTTP.Token: %w", err)
	}
	c.secrets.Add(t.Value)
	return t, nil
}

// Owner implements [wire.Exchanger]: the owner of the token that a request would have now.
func (c *conn) Owner(ctx context.Context) (string, error) {
	if c.source == nil {
		return "", nil
	}
	t, err := c.requestToken(ctx, nil)
	return t.Owner, err
}

// authorize sets the token of a message: the renewed one after a refusal, its session's token
// if it follows from an earlier message there, or else the source's.
func (c *conn) authorize(ctx context.Context, m *message, renewed *transport.Token) (err error) {
	s := m.session
	switch {
	case c.source == nil:
		return nil
	case renewed != nil:
		m.token = *renewed
	case m.isFollowUp():
		m.token = *s.token.Load()
	default:
		if m.token, err = c.requestToken(ctx, nil); err != nil {
			return err
		}
	}
	switch {
	case s == nil:
	case m.isFollowUp() && renewed == nil: // the session may have a newer one
	case m.sent.Opens || s.token.Load().Owner == m.token.Owner:
		sent := m.token
		s.token.Store(&sent)
	case m.bound:
		return wire.ErrSessionEnded
	default:
		return &wire.OwnerError{Session: s.ID()}
	}
	return nil
}

// reauthorize returns another token for a message whose token was refused, or nil: then the
// response is passed on.
func (c *conn) reauthorize(ctx context.Context, m *message, resp *http.Response) (*transport.Token, error) {
	t, err := c.requestToken(ctx, &transport.Refusal{Token: m.token.Value, Status: resp.StatusCode, Header: resp.Header})
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", c.statusError(resp), err)
	case t.Value == m.token.Value && t.Owner == m.token.Owner:
		return nil, nil
	case m.isFollowUp() && m.session.token.Load().Owner != t.Owner:
		return nil, nil
	}
	return &t, nil
}

// mayRenewToken reports whether the source may have another token later, after a refusal has failed with err.
func (c *conn) mayRenewToken(err error) bool {
	_, panicked := errors.AsType[*bound.PanicError](err)
	return c.source != nil && !panicked
}

// isTokenRefusal reports whether a response is about the token. The end of a session is not worth
// another token.
func (c *conn) isTokenRefusal(resp *http.Response) bool {
	return c.source != nil && resp.Request.Method != http.MethodDelete &&
		(resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden)
}
