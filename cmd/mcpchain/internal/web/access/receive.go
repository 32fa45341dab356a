package access

import (
	"context"
	"net/url"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// attemptKey is the context key of a sign-in that the user has begun.
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
	attempt *attempt // nil for a request without a waiting user
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
		r.grant.want(query.Get("scope"))
		return nil, &mcp.SignInError{URL: r.RedirectURI()}
	}
	if scope := r.grant.allScopes(query.Get("scope")); scope != "" {
		query.Set("scope", scope)
		u.RawQuery = query.Encode()
	}
	a, state := r.grant.access, query.Get("state")
	if !a.show(r, u.String(), state) {
		return nil, ErrNoSignIn
	}
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.waiting, state)
	}()
	select {
	case answer := <-r.answer:
		return answer, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// show gives the user the address of a sign-in, and expects its answer. It reports false if the user
// already has another address.
func (a *Access) show(r *reception, address, state string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.attempt.address != "" {
		return false
	}
	r.attempt.address = address
	close(r.attempt.shown)
	a.waiting[state] = r
	return true
}

// Close implements [oauth.Listener].
func (r *reception) Close() error { return nil }
