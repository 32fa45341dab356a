package access

import (
	"context"
	"net/url"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// attemptKey is the context key of the attempt that a user has begun.
type attemptKey struct{}

// Receive implements [oauth.Receiver]. Without a user who signs in, the request fails with an
// [*mcp.SignInError], and its run waits.
func (g *grant) Receive(ctx context.Context, _ string, authorize func(string) (string, error)) (url.Values, error) {
	address, err := authorize(g.access.opts.Callback)
	if err != nil {
		return nil, err
	}
	at, _ := ctx.Value(attemptKey{}).(*attempt)
	r := &reception{grant: g, attempt: at, answer: make(chan url.Values, 1)}
	return r.receive(ctx, address)
}

// reception waits for the answer of an authorization server. The transport creates the state
// and the PKCE challenge, and checks state and issuer of the answer.
type reception struct {
	grant   *grant
	attempt *attempt // nil if a call needs the sign-in, and no user has begun it
	answer  chan url.Values
}

// receive shows the user the address, and waits for the answer.
func (r *reception) receive(ctx context.Context, address string) (url.Values, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	query := u.Query()
	if r.attempt == nil {
		r.grant.requireSignIn(query.Get("scope"))
		return nil, &mcp.SignInError{URL: r.grant.access.opts.Callback}
	}
	access, state := r.grant.access, query.Get("state")
	if !access.setAddress(r, address, state) {
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
