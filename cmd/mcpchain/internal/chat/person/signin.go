package person

import (
	"context"
	"fmt"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/internal/signin"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// Receiver returns a receiver by which the person signs in to a server in a browser. port is the
// port of this machine that the file requires for that, 0 for any.
func (p *Person) Receiver(server string, port int) oauth.Receiver {
	if !p.screen.Attended() {
		return signin.NotNow(fmt.Sprintf("start mcpchain on a terminal once, and say /login %s", server))
	}
	return &signin.Page{
		Advice: fmt.Sprintf("/login %s", server),
		Port:   port,
		Visit:  func(ctx context.Context, v *signin.Visit) (string, error) { return p.signIn(ctx, server, v) },
	}
}

// signIn asks the person to sign in on a page. It waits until the context ends, or the person
// pastes the address of the last page, which is returned.
func (p *Person) signIn(ctx context.Context, server string, v *signin.Visit) (pasted string, err error) {
	if v.Mistake != nil {
		p.screen.Note(screen.Warn, "  %v", v.Mistake)
		return p.awaitSignIn(ctx, v)
	}
	key, err := p.screen.Choose(ctx, &screen.Choice{
		Heading:  fmt.Sprintf("The server %s wants you to sign in at %s.", server, v.Link.Host),
		Link:     v.Link.URL,
		Warnings: v.Link.Warnings,
		Question: "Open it in your browser?",
		Answers: []screen.Answer{
			{Key: 'y', Label: "yes"},
			{Key: 'm', Label: "myself, here or on another device"},
			{Key: 'n', Label: "no, do not sign in"},
		},
	})
	if err != nil {
		return "", err
	}
	switch key {
	case 'n':
		return "", signin.ErrDeclined
	case 'y':
		p.browse(ctx, v.URL)
	}
	return p.awaitSignIn(ctx, v)
}

// browse opens a page in the person's browser, or has the person open it.
func (p *Person) browse(ctx context.Context, url string) {
	if err := oauth.OpenBrowser(ctx, url); err != nil {
		p.screen.Note(screen.Warn, "  no browser could be opened: open the page yourself (%v)", err)
	}
}

// awaitSignIn waits until the person pastes an address or cancels.
func (p *Person) awaitSignIn(ctx context.Context, v *signin.Visit) (pasted string, err error) {
	for pasted == "" && err == nil {
		var key byte
		key, err = p.screen.Choose(ctx, &screen.Choice{
			Question: fmt.Sprintf("Waiting until you have signed in at %s …", v.Link.Host),
			Answers: []screen.Answer{
				{Key: 'p', Label: "paste the address of the last page, if it did not load"},
				{Key: 'c', Label: "cancel"},
			},
		})
		switch {
		case err == nil && key == 'c':
			return "", signin.ErrDeclined
		case err == nil:
			pasted, err = p.screen.Secret(ctx, "The address:")
		}
	}
	return pasted, err
}
