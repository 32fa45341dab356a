package person

import (
	"context"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/viewframe"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/signin"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
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
	key, err := p.choose(ctx, &screen.Choice{
		Heading:  fmt.Sprintf("The server %s wants you to sign in at %s.", server, v.Link.Host),
		Link:     v.Link.URL,
		Warnings: v.Link.Warnings,
		Question: "Open it in your browser?",
		Answers: []screen.Answer{
			{Key: 'y', Label: "yes"},
			{Key: 'm', Label: "myself, here or on another device"},
			{Key: 'n', Label: "no, do not sign in"},
		},
	}, signin.ErrDeclined)
	if err != nil {
		return "", err
	}
	if key == 'y' {
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

// mention matches where a text could mention a file or a resource by an @, which an @ within a word cannot. It matches
// more than the conversation does, because the editor may turn other white space into spaces.
var mention = regexp.MustCompile(`(^|\W)@`)

// OpenLink opens a page for the view of a server if the person agrees.
func (p *Person) OpenLink(ctx context.Context, server, url string) error {
	link, err := hosttext.ParseLink(url)
	if err != nil {
		return fmt.Errorf("%w: %w", apps.ErrInvalid, err)
	}
	key, err := p.choose(ctx, &screen.Choice{
		Heading: fmt.Sprintf("A view of the server %s wants to open a page of %s in your browser.",
			hosttext.Line(server, 100), link.Host),
		Link:     link.URL,
		Warnings: link.Warnings,
		Question: "Open it?",
		Answers:  []screen.Answer{{Key: 'y', Label: "yes"}, {Key: 'm', Label: "myself"}, {Key: 'n', Label: "no"}},
	}, apps.ErrDenied)
	if err == nil && key == 'y' {
		p.browse(ctx, url)
	}
	return err
}

// TakeMessage puts a view's message to the model into the line of the next question if the person
// agrees. The person may then send it.
func (p *Person) TakeMessage(ctx context.Context, server, text string) error {
	line, ok := p.screen.(screen.Linking)
	if !ok {
		return apps.ErrDenied
	}
	if utf8.RuneCountInString(text) > screen.MaxShown {
		return fmt.Errorf("%w: a message has at most %d characters here", apps.ErrInvalid, screen.MaxShown)
	}
	text = screen.CleanInput(text)
	_, err := p.choose(ctx, &screen.Choice{
		Heading: fmt.Sprintf("A view of the server %s wants to say this to the model in your name:",
			hosttext.Line(server, 100)),
		Text:     hosttext.Block(text, screen.MaxShown),
		Question: "Put it into your line?",
		Answers:  yesNo,
	}, apps.ErrDenied)
	if err != nil {
		return err
	}
	if !line.Suggest(viewframe.Attribution(server) + mention.ReplaceAllString(hosttext.Escape(text), `$1\@`)) {
		p.screen.Note(screen.Warn, "  your line is not empty: the view was told to try again")
		return fmt.Errorf("%w: the user is writing a question", apps.ErrInvalid)
	}
	return nil
}
