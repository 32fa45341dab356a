package chat

import (
	"context"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/lines"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/script"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/terminal"
)

// ui is a screen that the program closes at its end.
type ui interface {
	screen.Screen
	io.Closer
}

// open returns the screen that fits: a terminal with an editor for a conversation, otherwise lines, and objects with
// -json.
func (o *options) open(ctx context.Context, interrupts *talk.Interrupts) ui {
	in, out, side := isTerminal(os.Stdin), isTerminal(os.Stdout), isTerminal(os.Stderr)
	if in && out && side && !o.oneShot && !o.json && !dumb() {
		return terminal.Open(ctx, terminal.Options{In: os.Stdin, Out: os.Stdout, Interrupt: interrupts.Interrupt, History: place("history")})
	}
	stdout := os.Stdout
	if o.json {
		stdout, out = os.Stderr, side
	}
	var input io.Reader = os.Stdin
	if o.oneShot && !in {
		input = strings.NewReader("") // standard input is part of the question
	}
	options := lines.Options{}
	if in && side {
		hide := func() (func(), error) { return lines.Hide(os.Stdin) }
		options = lines.Options{Person: true, Wrap: out, Dumb: dumb(), Hide: hide, Width: columns}
	}
	console := lines.New(stdout, os.Stderr, lines.NewInput(ctx, input, options.Person), options)
	if o.json {
		return script.New(os.Stdout, console)
	}
	return console
}

// dumb reports whether the terminal takes no escape sequences.
func dumb() bool { return os.Getenv("TERM") == "dumb" }

// columns returns the width of the terminal, 0 if there is none.
func columns() int {
	width, _, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
