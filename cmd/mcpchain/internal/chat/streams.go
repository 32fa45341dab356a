package chat

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

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

const (
	// maxInput bounds the standard input of a question in bytes.
	maxInput = 1 << 20

	// firstInput bounds the wait for the first byte: some programs start others with an open input that they never use.
	firstInput = 3 * time.Second
)

// addInput adds the standard input to the text of -prompt, unless it is a terminal or the text is a command.
func (o *options) addInput(ctx context.Context, in *os.File, ui screen.Screen) error {
	if !o.oneShot || talk.IsCommand(o.prompt) {
		return nil
	}
	if info, err := in.Stat(); err != nil || info.Mode()&os.ModeCharDevice != 0 {
		return nil
	}
	text, err := readInput(ctx, in, firstInput)
	switch {
	case errors.Is(err, errSilent):
		ui.Note(screen.Warn, "standard input says nothing for %v, and is left out; </dev/null closes it", firstInput)
		return nil
	case err != nil:
		return err
	}
	if text = bytes.TrimRight(bytes.TrimPrefix(text, []byte("\ufeff")), "\r\n"); len(text) > 0 {
		o.prompt += "\n\n" + string(text)
	}
	return nil
}

// errSilent means that no input came in time.
var errSilent = errors.New("no input")

// readInput reads all input, if the first byte comes within first.
func readInput(ctx context.Context, r io.Reader, first time.Duration) ([]byte, error) {
	begun, done := make(chan struct{}), make(chan error, 1)
	var data []byte
	go func() { // not waited for, because a read cannot be interrupted
		in := bufio.NewReader(io.LimitReader(r, maxInput+1))
		_, _ = in.Peek(1) // ReadAll returns its error again
		close(begun)
		var err error
		data, err = io.ReadAll(in)
		done <- err
	}()
	late := time.After(first)
	for {
		select {
		case <-begun:
			begun, late = nil, nil
		case err := <-done:
			if err == nil && len(data) > maxInput {
				err = fmt.Errorf("more than %d bytes", maxInput)
			}
			if err != nil {
				return nil, fmt.Errorf("read standard input: %w", err)
			}
			return data, nil
		case <-late:
			return nil, errSilent
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
