package chat

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/talk"
)

const (
	// maxInput bounds the standard input of a question in bytes.
	maxInput = 1 << 20

	// firstInput bounds the wait for the first byte: some programs start others with an open input
	// that they never use.
	firstInput = 3 * time.Second
)

// addInput adds the standard input to the text of -prompt, unless it is a terminal or the text is a
// command.
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
	if text = bytes.TrimRight(text, "\r\n"); len(text) > 0 {
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
