package oauth

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Receiver sends the person to an authorization server, and brings the redirect at the end of the sign-in to this
// program.
type Receiver interface {
	// Receive calls authorize with the URI that the authorization server sends the person back to, and gets the URL
	// (https, or http on this machine) to send the person to. It returns the parameters of the final redirect, which
	// the caller checks. An error of authorize is the error of Receive. ctx ends after 5 min. previous is the redirect
	// URI of the client's registration, or empty; using it again avoids a new registration.
	Receive(
		ctx context.Context, previous string, authorize func(redirectURI string) (authorizationURL string, err error),
	) (url.Values, error)
}

// SignInPage returns a [Receiver] for programs in which no person waits, such as workers. A request that needs a
// sign-in fails immediately with an [*mcp.SignInError] whose URL is url, a page of the host.
//
// On that page the person signs in: it calls SignIn of another Transport with the same Store and
// Account. Later requests find the token in the store. If a server demands more scopes, the page
// calls SignOut, and then SignIn of a Transport whose Options.Scopes include them.
func SignInPage(url string) Receiver { return signInPage(url) }

// signInPage is the [Receiver] of SignInPage: the URL of the page.
type signInPage string

func (p signInPage) Receive(context.Context, string, func(string) (string, error)) (url.Values, error) {
	return nil, &mcp.SignInError{URL: string(p)}
}

// Paste returns a [Receiver] for devices without a browser. The person signs in on another device, where the redirect
// leads nowhere, and copies its URL from the browser's address bar.
//
// ask shows the whole URL, and returns the URL that the person copied. Its context ends after 5 min.
func Paste(ask func(ctx context.Context, authorizationURL string) (callbackURL string, err error)) Receiver {
	return paste(ask)
}

type paste func(context.Context, string) (string, error)

// pasteURI is the redirect URI of Paste, where nothing listens.
const pasteURI = "http://127.0.0.1" + callbackPath

// Receive asks the person for the answer.
func (p paste) Receive(ctx context.Context, _ string, authorize func(string) (string, error)) (url.Values, error) {
	if p == nil {
		return nil, errors.New("Paste has no function to ask the person")
	}
	authorizationURL, err := authorize(pasteURI)
	if err != nil {
		return nil, err
	}
	type pasted struct {
		text string
		err  error
	}
	answer := make(chan pasted, 1)
	go func() { // may outlive the sign-in: reading from a terminal cannot be interrupted
		var got pasted
		got.err = bound.Run("the function of Paste", func() (err error) {
			got.text, err = p(ctx, authorizationURL)
			return err
		})
		answer <- got
	}()
	select {
	case got := <-answer:
		if got.err != nil {
			return nil, got.err
		}
		return parsePasted(got.text)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// parsePasted returns the parameters of the whole URL of the redirect, and an error for any other text.
func parsePasted(text string) (url.Values, error) {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil || len(text) > maxToken || u.Scheme+"://"+u.Host+u.Path != pasteURI {
		return nil, untrustedError("what was pasted is not a URL that begins with %s: "+
			"copy the whole address of the page that did not load", pasteURI)
	}
	answer, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, untrustedError("what was pasted is damaged: copy the whole address again")
	}
	return answer, nil
}
