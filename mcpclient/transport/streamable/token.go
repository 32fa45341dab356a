package streamable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/mcpclient/internal/idle"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// TokenSource gives the requests of an [HTTP] transport their tokens. Its method may be
// called by several goroutines at the same time.
type TokenSource interface {
	// Token returns the token of one HTTP request. It is asked before each request, and
	// before a client answers from its cache, which has results of one owner; refused is nil
	// then. When the server answers 401 or 403 it is asked once more, with the refusal: the
	// request is repeated, unless the token is the same. A refusal may come late, when the
	// token has changed already. Token may block while a person signs in; other requests go
	// on. ctx has the values of the request's context. An error is the error of the request.
	Token(ctx context.Context, refused *Refusal) (Token, error)
}

// TokenFunc is a function that is a [TokenSource].
type TokenFunc func(ctx context.Context, refused *Refusal) (Token, error)

// Token calls f.
func (f TokenFunc) Token(ctx context.Context, refused *Refusal) (Token, error) {
	return f(ctx, refused)
}

// Token is a bearer token, and for whom it was issued.
type Token struct {
	// Value goes into Authorization, behind "Bearer ". Empty: the request has the
	// Authorization of [HTTP.Header], if any.
	Value string

	// Owner tells apart the users of a source that has tokens for several. A legacy
	// session belongs to the user who began it: a request with a token of another
	// owner begins a new session, and the old one ends after its last call.
	Owner string
}

// Refusal is the answer of a server that does not accept a token.
type Refusal struct {
	Token  string      // the refused one, "" for none
	Status int         // 401 or 403
	Header http.Header // of the response, such as WWW-Authenticate; not to be changed
}

// Bearer is a [TokenSource] whose token the program sets. Its methods may be called
// concurrently. The zero value has no token.
type Bearer struct {
	// Refused, when set, is called when the server has refused the token that is in
	// use, once at a time: requests with the same token wait for it. It may change the
	// token, by Renew or Set, before it returns; then the requests are repeated. An
	// error is the error of the request.
	Refused func(ctx context.Context, r *Refusal) error

	mu       sync.Mutex
	token    string
	users    int           // so far
	refusing chan struct{} // closed when the call of Refused returns; nil for none
}

// Set changes the token to one of another user; "" means none. The next request over a
// legacy session begins a new one. A string that cannot be a token is refused, and
// the token stays as it is.
func (b *Bearer) Set(token string) error { return b.change(token, 1) }

// Renew changes the token to another one of the same user: sessions continue with it. A
// string that cannot be a token is refused, and the token stays as it is.
func (b *Bearer) Renew(token string) error { return b.change(token, 0) }

func (b *Bearer) change(token string, users int) error {
	if err := checkToken(token); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if token != b.token {
		b.token = token
		b.users += users
	}
	return nil
}

// Token implements [TokenSource].
func (b *Bearer) Token(ctx context.Context, refused *Refusal) (Token, error) {
	if refused != nil && b.Refused != nil {
		if err := b.refuse(ctx, refused); err != nil {
			return Token{}, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return Token{Value: b.token, Owner: strconv.Itoa(b.users)}, nil
}

// refuse calls Refused, unless the token has changed since the request, or does so while
// refuse waits for an earlier call.
func (b *Bearer) refuse(ctx context.Context, r *Refusal) error {
	for {
		b.mu.Lock()
		if b.token != r.Token {
			b.mu.Unlock()
			return nil
		}
		before := b.refusing
		if before == nil {
			done := make(chan struct{})
			b.refusing = done
			b.mu.Unlock()
			defer func() {
				b.mu.Lock()
				b.refusing = nil
				b.mu.Unlock()
				close(done)
			}()
			return b.Refused(ctx, r)
		}
		b.mu.Unlock()
		select {
		case <-before:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// checkToken refuses a string that no header can have as a token. The error does not
// show it.
func checkToken(token string) error {
	if scheme, _, ok := strings.Cut(token, " "); ok && strings.EqualFold(scheme, "Bearer") {
		return errors.New("token: want it without the word Bearer before it")
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return errors.New("token: it has a character that no token has: a space, a line break or one beyond ASCII")
	}
	return nil
}

// ask gets a token from the source.
func (c *conn) ask(ctx context.Context, refused *Refusal) (Token, error) {
	defer idle.From(ctx).Hold()() // a person may sign in
	t, err := c.source.Token(ctx, refused)
	if err = cmp.Or(err, checkToken(t.Value)); err != nil {
		return Token{}, fmt.Errorf("HTTP.Token: %w", err)
	}
	c.secrets.Add(t.Value)
	return t, nil
}

// Owner implements [transport.Exchanger].
func (c *conn) Owner(ctx context.Context) (string, error) {
	if c.source == nil {
		return "", nil
	}
	t, err := c.ask(ctx, nil)
	return t.Owner, err
}

// authorize gives a message its token: the renewed one, after a refusal; that of its
// session, if it follows from an earlier message there; or else what the source says.
func (c *conn) authorize(ctx context.Context, m *message, renewed *Token) (err error) {
	s := m.session
	switch {
	case c.source == nil:
		return nil
	case renewed != nil:
		m.token = *renewed
	case m.follows():
		m.token = *s.token.Load()
	default:
		if m.token, err = c.ask(ctx, nil); err != nil {
			return err
		}
	}
	switch {
	case s == nil:
	case m.follows() && renewed == nil: // the session may have a newer one
	case m.sent.Opens || s.token.Load().Owner == m.token.Owner:
		sent := m.token
		s.token.Store(&sent)
	case m.bound:
		return transport.ErrSessionOver
	default:
		return &transport.OwnerError{Session: s.ID()}
	}
	return nil
}

// reauthorize returns another token for a message whose token was refused, nil for
// none: then the response is passed on.
func (c *conn) reauthorize(ctx context.Context, m *message, resp *http.Response) (*Token, error) {
	t, err := c.ask(ctx, &Refusal{Token: m.token.Value, Status: resp.StatusCode, Header: resp.Header})
	switch s := m.session; {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", c.statusError(resp), err)
	case t.Value == m.token.Value && t.Owner == m.token.Owner:
		return nil, nil
	case m.follows() && s.token.Load().Owner != t.Owner:
		return nil, nil
	}
	return &t, nil
}

// refuses reports whether a response is about the token. The end of a session is not
// worth another token.
func (c *conn) refuses(resp *http.Response) bool {
	return c.source != nil && resp.Request.Method != http.MethodDelete &&
		(resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden)
}
