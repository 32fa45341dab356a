package lines

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
)

const (
	maxLine      = 1 << 20 // bytes of one line of input, with its line break
	maxTypeAhead = 256     // lines typed before the next question
)

// errLongLine means that a line was skipped.
var errLongLine = &screen.LongLineError{Max: maxLine}

// Input reads lines in a goroutine of its own, so that the wait for a line can be cancelled. From a
// terminal it reads all the time: a line that was typed before a question must not answer it.
type Input struct {
	lines chan line
}

// line is a line of input, or an error: errLongLine, or why the input ended.
type line struct {
	text string
	err  error
}

// NewInput starts to read. attended means that a person types the input. The goroutine ends at the end of the input or
// of the context, except that it cannot interrupt a Read.
func NewInput(ctx context.Context, r io.Reader, attended bool) *Input {
	in := &Input{lines: make(chan line)}
	if attended {
		in.lines = make(chan line, maxTypeAhead)
	}
	go in.read(ctx, bufio.NewReader(r), attended)
	return in
}

// read sends lines until the input or the context ends.
func (in *Input) read(ctx context.Context, r *bufio.Reader, attended bool) {
	defer close(in.lines)
	for ctx.Err() == nil {
		l := readLine(r)
		last := l.err != nil && !errors.Is(l.err, errLongLine)
		if attended && !last {
			select {
			case in.lines <- l:
			default: // drop it: too many lines were typed ahead
			}
			continue
		}
		select {
		case in.lines <- l:
		case <-ctx.Done():
			return
		}
		if last {
			return
		}
	}
}

// readLine reads a line, and removes its line break, control characters and escape sequences.
func readLine(r *bufio.Reader) line {
	var text []byte
	tooLong := false
	for {
		part, err := r.ReadSlice('\n')
		if tooLong = tooLong || len(text)+len(part) > maxLine; !tooLong {
			text = append(text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (len(text) == 0 || !errors.Is(err, io.EOF)):
			return line{err: err}
		case tooLong:
			return line{err: errLongLine}
		}
		return line{text: screen.CleanInput(strings.TrimRight(string(text), "\r\n"))}
	}
}

// next waits for a line. The error is io.EOF at the end of the input, errLongLine for a skipped
// line, or the cause of the context's end.
func (in *Input) next(ctx context.Context) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	select {
	case l, ok := <-in.lines:
		if !ok {
			return "", io.EOF
		}
		return l.text, l.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// discard drops the lines that were typed ahead.
func (in *Input) discard() {
	for {
		select {
		case l, ok := <-in.lines:
			if !ok || l.err != nil && !errors.Is(l.err, errLongLine) {
				return
			}
		default:
			return
		}
	}
}
