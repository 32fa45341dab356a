package chat

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/lines"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/script"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/terminal"
)

// openScreen returns the screen for the session: an interactive terminal for a conversation if all
// standard streams are terminals, JSON output with -json, and plain lines otherwise.
func (o *options) openScreen(ctx context.Context, interrupts *talk.Interrupts) screen.Screen {
	inTTY, outTTY, errTTY := isTerminal(os.Stdin), isTerminal(os.Stdout), isTerminal(os.Stderr)
	if inTTY && outTTY && errTTY && !o.oneShot && !o.json && !isDumb() {
		return terminal.Open(ctx, terminal.Options{
			In: os.Stdin, Out: os.Stdout, Interrupt: interrupts.Interrupt, History: place("history"),
		})
	}
	text := os.Stdout
	if o.json {
		text = os.Stderr
	}
	var input io.Reader = os.Stdin
	if o.oneShot && !inTTY {
		input = strings.NewReader("") // standard input is part of the question
	}
	var opts lines.Options
	if inTTY && errTTY {
		hide := func() (func(), error) { return lines.Hide(os.Stdin) }
		opts = lines.Options{Person: true, Dumb: isDumb(), Hide: hide, Width: columns}
	}
	console := lines.New(text, os.Stderr, lines.NewInput(ctx, input, opts.Person), opts)
	if o.json {
		return script.New(os.Stdout, console)
	}
	return console
}

// isDumb reports whether the terminal accepts no escape sequences.
func isDumb() bool { return os.Getenv("TERM") == "dumb" }

// columns returns the width of the terminal, or 0 if there is none.
func columns() int {
	width, _, err := term.GetSize(os.Stderr.Fd())
	if err != nil {
		return 0
	}
	return width
}

// isTerminal reports whether a standard stream is a terminal.
func isTerminal(f *os.File) bool { return term.IsTerminal(f.Fd()) }
