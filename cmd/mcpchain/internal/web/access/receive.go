package access

import (
	"context"
	"net/url"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// attemptKey is the context key of the attempt that a user has begun.
type attemptKey struct{}

// Listen implements [oauth.Receiver].
func (g *grant) Listen(ctx context.Context, _ string) (oauth.Listener, error) {
	at, _ := ctx.Value(attemptKey{}).(*attempt)
	return &reception{grant: g, attempt: at, answer: make(chan url.Values, 1)}, nil
}

// reception waits for the answer of an authorization server. The transport creates the state
// and the PKCE challenge, and checks state and issuer of the answer.
type reception struct {
	grant   *grant
	attempt *attempt // nil if a call needs the sign-in, and no user has begun it
	answer  chan url.Values
}

// RedirectURI implements [oauth.Listener].
func (r *reception) RedirectURI() string { return r.grant.access.opts.Callback }

// Receive implements [oauth.Listener]. Without a user who signs in, the request fails with an
// [*mcp.SignInError], and its run waits.
func (r *reception) Receive(ctx context.Context, address string) (url.Values, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	query := u.Query()
	if r.attempt == nil {
		r.grant.requireSignIn(query.Get("scope"))
		return nil, &mcp.SignInError{URL: r.RedirectURI()}
	}
	if scope := r.grant.allScopes(query.Get("scope")); scope != "" {
		query.Set("scope", scope)
		u.RawQuery = query.Encode()
	}
	access, state := r.grant.access, query.Get("state")
	if !access.setAddress(r, u.String(), state) {
		return nil, ErrNoSignIn
	}
	defer func() {
		access.mu.Lock()
		defer access.mu.Unlock()
		delete(access.waiting, state)
	}()
	select {
	case answer := <-r.answer:
		return answer, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// setAddress sets the address of a sign-in, and expects the answer. It reports false if the user already has another
// address.
func (a *Access) setAddress(r *reception, address, state string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.attempt.address != "" {
		return false
	}
	r.attempt.address = address
	close(r.attempt.addressSet)
	a.waiting[state] = r
	return true
}

// Close implements [oauth.Listener].
func (r *reception) Close() error { return nil }
