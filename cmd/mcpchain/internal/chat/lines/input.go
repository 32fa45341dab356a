package lines

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
)

const (
	maxLine      = 1 << 20 // bytes of one line of input, with its line break
	maxTypeAhead = 256     // lines typed before a dialog or a question
)

// errLongLine means that a line was skipped.
var errLongLine = &screen.LongLineError{Max: maxLine}

// Input reads lines in a goroutine of its own, so that the wait for a line can be cancelled. From a
// terminal it reads all the time: a line that was typed before a dialog must not answer it.
type Input struct {
	lines chan line
	err   error // why the input ended; set before lines is closed
}

// line is a line of input.
type line struct {
	text    string
	tooLong bool // it was skipped
}

// NewInput starts to read. person means that a person types the input. The goroutine ends at the end of the input or
// of the context, except that it cannot interrupt a Read.
func NewInput(ctx context.Context, r io.Reader, person bool) *Input {
	in := &Input{lines: make(chan line)}
	if person {
		in.lines = make(chan line, maxTypeAhead)
	}
	go in.read(ctx, bufio.NewReader(r), person)
	return in
}

// read sends lines until the input or the context ends.
func (in *Input) read(ctx context.Context, r *bufio.Reader, person bool) {
	defer close(in.lines)
	for first := true; ctx.Err() == nil; first = false {
		l, err := readLine(r)
		if err != nil {
			in.err = err
			return
		}
		if first {
			l.text = strings.TrimPrefix(l.text, "\ufeff") // the mark of UTF-8 in files of Windows
		}
		if person {
			select {
			case in.lines <- l:
			default: // drop it: too many lines were typed ahead
			}
			continue
		}
		select {
		case in.lines <- l:
		case <-ctx.Done():
		}
	}
}

// readLine reads a line, and removes its line break, control characters and escape sequences. What precedes the end of
// the input is a line, too; what precedes a failure is incomplete, and dropped.
func readLine(r *bufio.Reader) (line, error) {
	var text []byte
	tooLong := false
	for {
		part, err := r.ReadSlice('\n')
		if tooLong = tooLong || len(text)+len(part) > maxLine; !tooLong {
			text = append(text, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(text) > 0, err == nil:
		default:
			return line{}, err
		}
		if tooLong {
			return line{tooLong: true}, nil
		}
		return line{text: screen.CleanInput(strings.TrimRight(string(text), "\r\n"))}, nil
	}
}

// next waits for a line. The error is errLongLine for a skipped line, io.EOF or the error of the reader at the end of
// the input, or the cause of the context's end.
func (in *Input) next(ctx context.Context) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	select {
	case l, ok := <-in.lines:
		switch {
		case !ok:
			return "", cmp.Or(in.err, io.EOF)
		case l.tooLong:
			return "", errLongLine
		}
		return l.text, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// discard drops the lines that were typed ahead.
func (in *Input) discard() {
	for {
		select {
		case _, ok := <-in.lines:
			if !ok {
				return
			}
		default:
			return
		}
	}
}
