package access

import (
	"context"
	"net/url"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// attemptKey is the context key of the attempt that a user has begun.
type attemptKey struct{}

// Receive implements [oauth.Receiver]: it shows the user the address, and waits for the answer. Without a user who signs in,
// the request fails with an [*mcp.SignInError], and its run waits. The transport creates the state and the PKCE challenge,
// and checks state and issuer of the answer.
func (g *grant) Receive(ctx context.Context, _ string, authorize func(string) (string, error)) (url.Values, error) {
	callback := g.access.opts.Callback
	address, err := authorize(callback)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	at, begun := ctx.Value(attemptKey{}).(*attempt)
	if !begun { // a call needs the sign-in
		g.requireSignIn(u.Query().Get("scope"))
		return nil, &mcp.SignInError{URL: callback}
	}
	state := u.Query().Get("state")
	if !at.expect(address, state) {
		return nil, ErrNoSignIn
	}
	defer at.answered(state)
	select {
	case answer := <-at.answer:
		return answer, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// expect sets the address to sign in at, and expects the answer. It reports false if the user already has another address.
func (at *attempt) expect(address, state string) bool {
	a := at.grant.access
	a.mu.Lock()
	defer a.mu.Unlock()
	if at.address != "" {
		return false
	}
	at.address = address
	close(at.addressSet)
	a.waiting[state] = at
	return true
}

// answered expects no answer any more.
func (at *attempt) answered(state string) {
	a := at.grant.access
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, state)
}
