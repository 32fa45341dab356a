package mcpchain

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

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/signin"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// ErrNobody means that a question found nobody: the input of the [Terminal] has ended.
var ErrNobody = errors.New("nobody could be asked: the input has ended")

// Terminal asks a person, line by line and one question at a time. The zero value asks at standard input, and shows the
// questions on standard error. What servers and models wrote is shown by [hosttext]: it cannot control the terminal, and does not
// look like a text of the program.
//
// After the end of the input there is nobody: nothing is allowed, filled in or signed in to. A question reads one line; one that
// ends before its line has come leaves the reading of that line to the next question.
type Terminal struct {
	In  io.Reader // default: standard input
	Out io.Writer // default: standard error

	mu      sync.Mutex // guards the fields below, and is held for the length of a question
	scanner *bufio.Scanner
	pending chan answer // a line that is being read
	absent  bool        // a question found nobody
}

type answer struct {
	line string
	ok   bool
}

// maxShown bounds a shown error and the text of a question, in characters.
const maxShown = 4000

func (t *Terminal) out() io.Writer {
	if t.Out == nil {
		return os.Stderr
	}
	return t.Out
}

// note shows a line. Values are texts of anyone.
func (t *Terminal) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintln(t.out(), hosttext.Line(fmt.Sprintf(format, args...), maxShown))
}

// tell names the servers that are left out.
func (t *Terminal) tell(left []adapter.ServerStatus) {
	for _, s := range left {
		if s.Err != nil {
			t.note("left out: %v", s.Err)
		}
		for _, name := range s.Unmatched {
			t.note("server %q has no tool %q, which the file allows or leaves out", s.Name, name)
		}
	}
}

// missed reports whether a question found nobody.
func (t *Terminal) missed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.absent
}

// Read asks the person for a line, such as the next question to the model.
func (t *Terminal) Read(ctx context.Context, prompt string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.askLocked(ctx, "%s", prompt)
}

// askLocked asks, and returns the typed line.
func (t *Terminal) askLocked(ctx context.Context, format string, args ...any) (string, error) {
	return t.readLocked(ctx, fmt.Sprintf(format, args...), false)
}

// readLocked asks, and returns the typed line; a secret is not shown while it is typed at a terminal.
func (t *Terminal) readLocked(ctx context.Context, question string, secret bool) (string, error) {
	fmt.Fprint(t.out(), question+" ")
	if t.pending == nil {
		read := t.lineReader(secret)
		line := make(chan answer, 1)
		go func() { line <- read() }() // ends with the line
		t.pending = line
	}
	select {
	case a := <-t.pending:
		t.pending = nil
		if a.ok {
			return strings.TrimSpace(a.line), nil
		}
		t.absent = true
		fmt.Fprintln(t.out())
		return "", ErrNobody
	case <-ctx.Done():
		fmt.Fprintln(t.out())
		return "", context.Cause(ctx)
	}
}

// lineReader returns what reads one line.
func (t *Terminal) lineReader(secret bool) func() answer {
	in := t.In
	if in == nil {
		in = os.Stdin
	}
	if file, ok := in.(*os.File); secret && ok && term.IsTerminal(int(file.Fd())) {
		return func() answer {
			line, err := term.ReadPassword(int(file.Fd()))
			fmt.Fprintln(t.out())
			return answer{string(line), err == nil}
		}
	}
	if t.scanner == nil {
		t.scanner = bufio.NewScanner(in)
	}
	return func() answer { ok := t.scanner.Scan(); return answer{t.scanner.Text(), ok} }
}

// input asks for a value that a file leaves open.
func (t *Terminal) input(ctx context.Context, in *config.Input) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, c := range in.Choices {
		fmt.Fprintf(t.out(), "  %d) %s\n", i+1, hosttext.Line(c, maxShown))
	}
	line, err := t.readLocked(ctx, signin.Question(in), in.Password)
	return signin.Value(in, line), err
}

// visit has the person open the page of a sign-in, and waits for its answer, which may be pasted.
func (t *Terminal) visit(ctx context.Context, server string, v *signin.Visit) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v.Mistake != nil {
		fmt.Fprintln(t.out(), hosttext.Line(v.Mistake.Error(), maxShown))
	} else {
		t.showLinkLocked(fmt.Sprintf("The server %s wants you to sign in at", hosttext.Quote(server)), v.Link)
		line, err := t.askLocked(ctx, "Open it in your browser? y, n, or s to stop:")
		switch {
		case err != nil:
			return "", err
		case line == "s":
			return "", signin.ErrDeclined
		case line == "y":
			if err := oauth.OpenBrowser(ctx, v.URL); err != nil {
				fmt.Fprintln(t.out(), "No browser could be opened: open the page yourself.")
			}
		}
	}
	return t.askLocked(ctx, "Waiting until you have signed in. If the last page does not load, copy its whole address to here:")
}

// showLinkLocked shows the host of a page, its whole address, and warnings.
func (t *Terminal) showLinkLocked(what string, link *hosttext.Link) {
	fmt.Fprintf(t.out(), "%s %s:\n\n  %s\n\n", what, link.Host, link.URL)
	for _, warning := range link.Warnings {
		fmt.Fprintf(t.out(), "Warning: %s.\n", warning)
	}
}
