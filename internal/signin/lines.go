package signin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// maxShown bounds a shown text of a file, in characters.
const maxShown = 300

// Lines asks a person line by line, one question at a time. Its methods may be called concurrently.
// Except for a secret at a terminal, it may read more of In than the line.
type Lines struct {
	In   io.Reader
	Out  io.Writer
	Open func(ctx context.Context, url string) error // opens a URL in a browser

	mu       sync.Mutex // guards the fields below, and is held while a question is asked
	buffered *bufio.Reader
	pending  chan line // gets the line that is being read
}

// line is a line with its line break, or with ok false the end of the input.
type line struct {
	text string
	ok   bool
}

// ErrNoAnswer means that the input has ended.
var ErrNoAnswer = errors.New("there is no answer")

// Ask asks a question, and returns the line, however long. If the context ends before a line is read, the next question
// gets the next line. The error is [ErrNoAnswer] at the end of the input, and the cause of ctx if that ends first.
func (l *Lines) Ask(ctx context.Context, question string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.askLocked(ctx, question, l.readLine)
}

// AskSecret is Ask for a secret: a terminal does not show it while it is typed, unless the line of an
// earlier question is still being read.
func (l *Lines) AskSecret(ctx context.Context, question string) (string, error) {
	file, ok := l.In.(*os.File)
	if !ok {
		return l.Ask(ctx, question)
	}
	terminal := int(file.Fd())
	l.mu.Lock() // first, as another question may hide what is typed
	defer l.mu.Unlock()
	state, err := term.GetState(terminal)
	if err != nil { // it is not a terminal
		return l.askLocked(ctx, question, l.readLine)
	}
	defer func() {
		_ = term.Restore(terminal, state) // for a question that ended without a line
		_, _ = fmt.Fprintln(l.Out)
	}()
	return l.askLocked(ctx, question, func() line {
		text, err := term.ReadPassword(terminal)
		return line{string(text), err == nil}
	})
}

// readLine reads a line that is shown.
func (l *Lines) readLine() line {
	text, err := l.buffered.ReadString('\n')
	return line{text, err == nil || text != ""}
}

// askLocked asks a question. Unless a line is being read already, it calls read for the answer.
func (l *Lines) askLocked(ctx context.Context, question string, read func() line) (string, error) {
	_, _ = fmt.Fprint(l.Out, question)
	if l.buffered == nil {
		l.buffered = bufio.NewReader(l.In)
	}
	if l.pending == nil && ctx.Err() == nil {
		pending := make(chan line, 1)
		go func() { pending <- read() }() // ends with the line
		l.pending = pending
	}
	err := ErrNoAnswer
	select {
	case answer := <-l.pending:
		l.pending = nil
		if answer.ok {
			return strings.TrimRight(answer.text, "\r\n"), nil
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	_, _ = fmt.Fprintln(l.Out)
	return "", err
}

// Input asks for a value that a file leaves open, see [config.Loader]. An empty answer is the
// default. The texts come from the file, and files come from strangers.
func (l *Lines) Input(ctx context.Context, in *config.Input) (string, error) {
	for i, c := range in.Choices {
		_, _ = fmt.Fprintf(l.Out, "  %d) %s\n", i+1, hosttext.Line(c, maxShown))
	}
	ask := l.Ask
	if in.Password {
		ask = l.AskSecret
	}
	answer, err := ask(ctx, Question(in)+" ")
	if errors.Is(err, ErrNoAnswer) {
		err = fmt.Errorf("%w: standard input has ended; give it a line for each input, or write ${NAME} for a variable of the environment", err)
	}
	return Value(in, strings.TrimSpace(answer)), err
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

// Value returns the meaning of an answer: a choice may be named by its number, and an empty answer is the default.
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
	if err := l.showAddress("The server wants you to sign in at", url); err != nil {
		return err
	}
	answer, err := l.Ask(ctx, "Open it in the browser? [Y/n] ")
	switch {
	case errors.Is(err, ErrNoAnswer), strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "n"):
		_, _ = fmt.Fprintln(l.Out, "\nOpen it yourself. Waiting …")
		return nil
	case err != nil:
		return err
	}
	return l.Open(ctx, url)
}

func (l *Lines) askForAddress(ctx context.Context, url string) (string, error) {
	if err := l.showAddress("On a device with a browser, sign in at", url); err != nil {
		return "", err
	}
	return l.Ask(ctx, "The last page will not load. Copy its whole address to here: ")
}

// showAddress shows an address that a browser would open.
func (l *Lines) showAddress(what, url string) error {
	link, err := hosttext.ParseLink(url)
	if err != nil {
		return err
	}
	l.ShowLink(what, link)
	return nil
}

// ShowLink shows the host of a page, its whole address, and warnings.
func (l *Lines) ShowLink(what string, link *hosttext.Link) {
	_, _ = fmt.Fprintf(l.Out, "%s %s:\n\n  %s\n\n", what, link.Host, link.URL)
	for _, warning := range link.Warnings {
		_, _ = fmt.Fprintf(l.Out, "Warning: %s.\n", warning)
	}
}
