package oauth

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/mcpchain/mcpchain/internal/bound"
)

// Paste returns a [Receiver] for devices without a browser. The person signs in on another device, where the redirect
// leads nowhere, and copies its URL from the browser's address bar.
//
// ask shows the whole URL, and returns the URL that the person copied. Its context ends after 5 min.
func Paste(ask func(ctx context.Context, authorizationURL string) (callbackURL string, err error)) Receiver {
	return paste(ask)
}

type paste func(context.Context, string) (string, error)

// Listen opens nothing.
func (p paste) Listen(context.Context, string) (Listener, error) {
	if p == nil {
		return nil, errors.New("Paste has no function to ask the person")
	}
	return &pasteReception{p}, nil
}

// pasteReception asks the person for the answer.
type pasteReception struct{ ask paste }

func (r *pasteReception) RedirectURI() string { return "http://127.0.0.1" + callbackPath }

func (r *pasteReception) Receive(ctx context.Context, authorizationURL string) (url.Values, error) {
	type pasted struct {
		text string
		err  error
	}
	got := make(chan pasted, 1)
	go func() { // may outlive the sign-in: reading from a terminal cannot be interrupted
		var p pasted
		p.err = bound.Run("the function of Paste", func() (err error) {
			p.text, err = r.ask(ctx, authorizationURL)
			return err
		})
		got <- p
	}()
	select {
	case p := <-got:
		if p.err != nil {
			return nil, p.err
		}
		return r.parse(p.text)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// parse returns the parameters of the whole URL of the redirect, and an error for any other text.
func (r *pasteReception) parse(text string) (url.Values, error) {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil || len(text) > maxToken || u.Scheme+"://"+u.Host+u.Path != r.RedirectURI() {
		return nil, untrustedError("what was pasted is not a URL that begins with %s: "+
			"copy the whole address of the page that did not load", r.RedirectURI())
	}
	answer, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, untrustedError("what was pasted is damaged: copy the whole address again")
	}
	return answer, nil
}

func (r *pasteReception) Close() error { return nil }
