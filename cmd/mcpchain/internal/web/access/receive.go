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
	if scope := r.grant.widened(query.Get("scope")); scope != "" {
		query.Set("scope", scope)
		u.RawQuery = query.Encode()
	}
	a, state := r.grant.access, query.Get("state")
	a.mu.Lock()
	a.waiting[state] = r
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.waiting, state)
	}()
	select {
	case <-r.attempt.shown: // the user already has another address
		return nil, ErrNoSignIn
	default:
		r.attempt.address = u.String()
		close(r.attempt.shown)
	}
	select {
	case answer := <-r.answer:
		return answer, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Close implements [oauth.Listener].
func (r *reception) Close() error { return nil }
