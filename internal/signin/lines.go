package signin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/config"
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

// line is a line as it was read, or with ok false the end of the input.
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

// Value returns the meaning of an answer: a choice may be named by its number, unless that is a choice itself, and an
// empty answer is the default.
func Value(in *config.Input, answer string) string {
	n, err := strconv.Atoi(answer)
	switch {
	case answer == "":
		return in.Default
	case err == nil && 1 <= n && n <= len(in.Choices) && !slices.Contains(in.Choices, answer):
		return in.Choices[n-1]
	}
	return answer
}

// Visit asks the person to open the page of a sign-in at a server, see [Page]. It returns the address
// that the person pastes if the last page does not load, and [ErrDeclined] if the person stops it.
func (l *Lines) Visit(ctx context.Context, server string, v *Visit) (pasted string, err error) {
	if v.Mistake != nil {
		_, _ = fmt.Fprintln(l.Out, hosttext.Line(v.Mistake.Error(), maxShown))
	} else {
		l.ShowLink(fmt.Sprintf("The server %s wants you to sign in at", hosttext.Quote(server)), v.Link)
		switch answer, err := l.Ask(ctx, "Open it in your browser? y, n, or s to stop: "); {
		case err != nil:
			return "", err
		case isAnswer(answer, "s", "stop"):
			return "", ErrDeclined
		case isAnswer(answer, "y", "yes"):
			if err := l.Open(ctx, v.URL); err != nil {
				_, _ = fmt.Fprintln(l.Out, "No browser could be opened: open the page yourself.")
			}
		}
	}
	pasted, err = l.Ask(ctx, "Waiting until you have signed in. "+
		"If the last page does not load, copy its whole address to here, or type s to stop: ")
	if isAnswer(pasted, "s", "stop") {
		err = ErrDeclined
	}
	return pasted, err
}

// isAnswer reports whether a line is one of the words.
func isAnswer(line string, words ...string) bool {
	return slices.Contains(words, strings.ToLower(strings.TrimSpace(line)))
}

// ShowLink shows the host of a page, its whole address, and warnings.
func (l *Lines) ShowLink(what string, link *hosttext.Link) {
	_, _ = fmt.Fprintf(l.Out, "%s %s:\n\n  %s\n\n", what, link.Host, link.URL)
	for _, warning := range link.Warnings {
		_, _ = fmt.Fprintf(l.Out, "Warning: %s.\n", warning)
	}
}
