package person

import (
	"context"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/viewframe"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
)

// mention matches where a text could mention a file or a resource by an @, which an @ within a word
// cannot. It matches more than the conversation does, because the editor may turn other white space
// into spaces.
var mention = regexp.MustCompile(`(^|\W)@`)

// OpenLink opens a page for the view of a server if the person agrees.
func (p *Person) OpenLink(ctx context.Context, server, url string) error {
	link, err := hosttext.ParseLink(url)
	if err != nil {
		return fmt.Errorf("%w: %w", apps.ErrInvalid, err)
	}
	key, err := p.screen.Choose(ctx, &screen.Choice{
		Heading: fmt.Sprintf("A view of the server %s wants to open a page of %s in your browser.",
			hosttext.Line(server, 100), link.Host),
		Link:     link.URL,
		Warnings: link.Warnings,
		Question: "Open it?",
		Answers:  []screen.Answer{{Key: 'y', Label: "yes"}, {Key: 'm', Label: "myself"}, {Key: 'n', Label: "no"}},
	})
	switch {
	case err != nil:
		return err
	case key == 'n':
		return apps.ErrDenied
	case key == 'y':
		p.browse(ctx, url)
	}
	return nil
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
	key, err := p.screen.Choose(ctx, &screen.Choice{
		Heading: fmt.Sprintf("A view of the server %s wants to say this to the model in your name:",
			hosttext.Line(server, 100)),
		Text:     hosttext.Block(text, screen.MaxShown),
		Question: "Put it into your line?",
		Answers:  []screen.Answer{{Key: 'y', Label: "yes"}, {Key: 'n', Label: "no"}},
	})
	switch {
	case err != nil:
		return err
	case key == 'n':
		return apps.ErrDenied
	case !line.Suggest(viewframe.Attribution(server) + mention.ReplaceAllString(hosttext.Escape(text), `$1\@`)):
		p.screen.Note(screen.Warn, "  your line is not empty: the view was told to try again")
		return fmt.Errorf("%w: the user is writing a question", apps.ErrInvalid)
	}
	return nil
}
