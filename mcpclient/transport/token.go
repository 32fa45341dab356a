package transport

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/mcpchain/mcpchain/mcpclient/internal/redact"
)

// TokenSource provides tokens for the requests of an HTTP transport. Its method may be called concurrently.
type TokenSource interface {
	// Token returns the token of one HTTP request. It is called before each request, and before a
	// client answers from its cache, which has results of one owner; refused is nil then. When the
	// server answers 401 or 403 it is called once more with the refusal: the request is repeated
	// unless the result is the same; one without a Value repeats it without a token. A refusal may
	// come late, after the token has changed. Token may block while a person signs in, without
	// holding up other requests. ctx has the values of the request's context. An error is the error
	// of the request, and so is a panic.
	Token(ctx context.Context, refused *Refusal) (Token, error)
}

// Token is a bearer token with its owner.
type Token struct {
	// Value is sent in Authorization, after "Bearer ". If it is empty, the request has the
	// Authorization of mcpclient.HTTP.Header, if any.
	Value string

	// Owner distinguishes the users of a source that has tokens for several. A legacy session
	// belongs to the user who began it: a request with a token of another owner begins a new
	// session, and the old one ends after its last call.
	Owner string
}

// Refusal is a server's refusal of a token.
type Refusal struct {
	Token  string      // the refused one, "" for none
	Status int         // 401 or 403
	Header http.Header // the response's header, such as WWW-Authenticate; not to be modified
}

// Bearer is a [TokenSource] with a token set by the program. Its methods may be called
// concurrently. The zero value has no token.
type Bearer struct {
	// Refused, if set, is called when the server has refused the current token. It may change the
	// token, with Renew or ChangeUser, before it returns; then the request is repeated. Its error is
	// the error of the request. Requests with the same token wait while it runs, and share its result
	// if the server refused them for the same reason and ctx has not ended.
	Refused func(ctx context.Context, r *Refusal) error

	mu       sync.Mutex
	token    string
	users    int          // counts changes of the user
	refusing *refusedCall // the call of Refused that runs, or nil
}

// refusedCall is one call of [Bearer.Refused].
type refusedCall struct {
	refusal *Refusal
	done    chan struct{} // closed when the call has ended; then the fields below may be read
	err     error
	valid   bool // err is the result for every caller: Refused did not panic, and its ctx has not ended
}

// ChangeUser sets the token of another user; "" means none. The next request over a legacy session
// begins a new one. A string that cannot be a token is refused, and the token stays unchanged.
func (b *Bearer) ChangeUser(token string) error { return b.change(token, 1) }

// Renew sets another token of the same user: sessions continue with it. A string that cannot be
// a token is refused, and the token stays unchanged.
func (b *Bearer) Renew(token string) error { return b.change(token, 0) }

// change sets the token, and counts new users.
func (b *Bearer) change(token string, newUsers int) error {
	if err := redact.CheckToken(token); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if token != b.token {
		b.token = token
		b.users += newUsers
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

// refuse calls Refused, unless the token has changed since the request, or an earlier call, for which
// refuse waits, has the result.
func (b *Bearer) refuse(ctx context.Context, r *Refusal) error {
	var earlier *refusedCall
	for {
		b.mu.Lock()
		if b.token != r.Token {
			b.mu.Unlock()
			return nil
		}
		if earlier != nil && earlier.valid && earlier.refusal.isLike(r) {
			b.mu.Unlock()
			return earlier.err
		}
		earlier = b.refusing
		if earlier == nil {
			call := &refusedCall{refusal: r, done: make(chan struct{})}
			b.refusing = call
			b.mu.Unlock()
			return b.callRefused(ctx, call)
		}
		b.mu.Unlock()
		select {
		case <-earlier.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (b *Bearer) callRefused(ctx context.Context, c *refusedCall) error {
	defer func() {
		b.mu.Lock()
		b.refusing = nil
		b.mu.Unlock()
		close(c.done)
	}()
	c.err = b.Refused(ctx, c.refusal)
	c.valid = ctx.Err() == nil
	return c.err
}

// isLike reports whether the same token was refused for the same reason.
func (r *Refusal) isLike(other *Refusal) bool {
	const challenge = "Www-Authenticate"
	return r.Token == other.Token && r.Status == other.Status && slices.Equal(r.Header[challenge], other.Header[challenge])
}
