package signin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// maxShown bounds a shown text of a file, in characters.
const maxShown = 300

// Lines asks a person line by line.
type Lines struct {
	In   *bufio.Reader
	Out  io.Writer
	Open func(ctx context.Context, url string) error // opens a URL in a browser

	// Secret reads a line without showing it. Nil: there is no terminal.
	Secret func() (string, error)
}

// NewLines asks at in, which may be a terminal, and shows the questions on out.
func NewLines(in *os.File, out io.Writer) *Lines {
	l := &Lines{In: bufio.NewReader(in), Out: out, Open: oauth.OpenBrowser}
	if fd := int(in.Fd()); term.IsTerminal(fd) {
		l.Secret = func() (string, error) {
			line, err := term.ReadPassword(fd)
			_, _ = fmt.Fprintln(out)
			return string(line), err
		}
	}
	return l
}

// ErrNoAnswer means that the input has ended.
var ErrNoAnswer = errors.New("there is no answer")

func (l *Lines) ask(question string) (string, error) {
	_, _ = fmt.Fprint(l.Out, question)
	line, err := l.In.ReadString('\n')
	if err != nil && line == "" {
		return "", ErrNoAnswer
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// Input asks for a value that a file leaves open, see [config.Loader]. An empty answer is the
// default. The texts come from the file, and files come from strangers.
func (l *Lines) Input(_ context.Context, in *config.Input) (string, error) {
	for i, c := range in.Choices {
		_, _ = fmt.Fprintf(l.Out, "  %d) %s\n", i+1, hosttext.Line(c, maxShown))
	}
	var answer string
	var err error
	if in.Password && l.Secret != nil {
		_, _ = fmt.Fprint(l.Out, Question(in)+" ")
		answer, err = l.Secret()
	} else {
		answer, err = l.ask(Question(in) + " ")
	}
	if errors.Is(err, ErrNoAnswer) {
		err = fmt.Errorf("%w: standard input has ended; give it a line for each input, or write ${NAME} for a variable of the environment", err)
	}
	return Value(in, answer), err
}

// Question asks for an input on one line.
func Question(in *config.Input) string {
	question := hosttext.Line(in.ID, maxShown)
	if in.Description != "" {
		question = hosttext.Line(in.Description, maxShown)
	}
	if in.Default != "" && !in.Password {
		question += " [" + hosttext.Line(in.Default, maxShown) + "]"
	}
	return question + ":"
}

// Value returns the meaning of an answer: a choice may be named by its number, and an empty
// answer is the default.
func Value(in *config.Input, answer string) string {
	if answer == "" {
		return in.Default
	}
	for i, c := range in.Choices {
		if answer == fmt.Sprint(i+1) {
			return c
		}
	}
	return answer
}

// Browser signs in with a browser on this machine.
func (l *Lines) Browser(port int) oauth.Receiver {
	return &oauth.Loopback{Open: l.offerToOpen, Port: port}
}

// Paste signs in with a browser on another device.
func (l *Lines) Paste() oauth.Receiver { return &oauth.Paste{Ask: l.askForAddress} }

// offerToOpen shows the URL before anything opens it.
func (l *Lines) offerToOpen(ctx context.Context, url string) error {
	if err := l.showLink("The server wants you to sign in at", url); err != nil {
		return err
	}
	answer, err := l.ask("Open it in the browser? [Y/n] ")
	if errors.Is(err, ErrNoAnswer) || strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "n") {
		_, _ = fmt.Fprintln(l.Out, "\nOpen it yourself. Waiting …")
		return nil
	}
	return l.Open(ctx, url)
}

func (l *Lines) askForAddress(_ context.Context, url string) (string, error) {
	if err := l.showLink("On a device with a browser, sign in at", url); err != nil {
		return "", err
	}
	return l.ask("The last page will not load. Copy its whole address to here: ")
}

// showLink shows the host of a page, its whole address, and warnings.
func (l *Lines) showLink(what, url string) error {
	link, err := hosttext.ParseLink(url)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(l.Out, "%s %s:\n\n  %s\n\n", what, link.Host, link.URL)
	for _, warning := range link.Warnings {
		_, _ = fmt.Fprintf(l.Out, "Warning: %s.\n", warning)
	}
	return nil
}
