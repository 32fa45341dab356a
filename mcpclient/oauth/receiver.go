package oauth

import (
	"context"
	"net/url"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Receiver brings the redirect at the end of a sign-in to this program.
type Receiver interface {
	// Listen prepares to receive one redirect. previous is the redirect URI of the client's
	// registration, or empty; using it again avoids a new registration.
	Listen(ctx context.Context, previous string) (Listener, error)
}

// Listener receives one redirect.
type Listener interface {
	// RedirectURI is the URI that the authorization server sends the person back to.
	RedirectURI() string

	// Receive sends the person to authorizationURL (https, or http on this machine), and returns
	// the parameters of the final redirect. The caller checks them.
	Receive(ctx context.Context, authorizationURL string) (url.Values, error)

	// Close stops receiving.
	Close() error
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

func (p signInPage) Listen(context.Context, string) (Listener, error) {
	return nil, &mcp.SignInError{URL: string(p)}
}
