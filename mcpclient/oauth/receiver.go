package oauth

import (
	"context"
	"net/url"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Receiver sends the person to an authorization server, and brings the redirect at the end of the sign-in to this
// program.
type Receiver interface {
	// Receive calls authorize with the URI that the authorization server sends the person back to, and gets the
	// URL (https, or http on this machine) to send the person to. It returns the parameters of the final
	// redirect, which the caller checks. An error of authorize is the error of Receive. ctx ends after 5 min.
	// previous is the redirect URI of the client's registration, or empty; using it again avoids a new
	// registration.
	Receive(
		ctx context.Context, previous string, authorize func(redirectURI string) (authorizationURL string, err error),
	) (url.Values, error)
}

// SignInPage returns a [Receiver] for programs in which no person waits, such as workers. A request
// that needs a sign-in fails immediately with an [*mcp.SignInError] whose URL is url, a page of the
// host.
//
// On that page the person signs in: it calls SignIn of another Transport with the same Store and
// Account. Later requests find the token in the store. If a server demands more scopes, the page
// calls SignOut, and then SignIn of a Transport whose Options.Scopes include them.
func SignInPage(url string) Receiver { return signInPage(url) }

// signInPage is the [Receiver] of SignInPage: the URL of the page.
type signInPage string

// Receive implements [Receiver].
func (p signInPage) Receive(context.Context, string, func(string) (string, error)) (url.Values, error) {
	return nil, &mcp.SignInError{URL: string(p)}
}
