package mcp

import (
	"net/url"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// SignInError is the error of a request that the server refused because a person has to sign in
// first, in a program that does not ask the person. The request may be made again after the
// sign-in. Requests through an oauth.Transport with oauth.SignInPage fail with it; the HTTP client
// of a host may return it too, possibly wrapped.
type SignInError struct {
	URL string // a page of the host, where the person signs in
}

// Error shows the URL without its user info or query.
func (e *SignInError) Error() string {
	u, err := url.Parse(e.URL)
	if err != nil || u.Host == "" {
		return "a person has to sign in first"
	}
	return excerpt.Cut("a person has to sign in first, at " + (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String())
}
