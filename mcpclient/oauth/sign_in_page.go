package oauth

import (
	"context"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

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
