package oauth

import (
	"context"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Elsewhere returns a [Receiver] for programs in which no person waits, such as workers. A request
// that needs a sign-in fails at once, with an [*mcp.SignInError] that has url, a page of the host.
//
// There the person signs in with another Transport, which has the same Store and Profile: its
// SignIn. Later requests of this one find the token in the store. If a server demands more
// scopes, the page has to ask for them: SignOut, and Options.Scopes.
func Elsewhere(url string) Receiver { return elsewhere(url) }

// elsewhere is the URL of the page.
type elsewhere string

func (e elsewhere) Listen(context.Context, string) (Reception, error) {
	return nil, &mcp.SignInError{URL: string(e)}
}
