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
