package stdio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

const (
	readBuffer = 2 << 10         // per connection, including idle ones
	maxChunk   = 256 << 10       // long messages are read in pieces of at most this size
	maxEmpty   = 100             // consecutive reads without bytes or an error
	blanks     = " \t\r\x00\x1e" // around a message; some servers send NUL or RS
)

var byteOrderMark = []byte("\uFEFF")

// lineReader finds the messages among the lines of a reader. A line that begins like a JSON object or array is a message; the
// caller finds out whether it is JSON. Other lines are skipped, except for a response in them.
type lineReader struct {
	src     io.Reader
	max     int          // bound of a line in bytes
	buffer  []byte       // has readBuffer bytes; nil before the first read
	data    []byte       // read but not returned: part of the buffer, or the rest of a long line
	discard bool         // the next line is the rest of one that is too long
	err     error        // the error of src, which is not read again
	skipped skippedLines // the only field that other goroutines use
}

// next returns the next message, in memory of its own. After a [*transport.MessageError] there may
// be further messages; any other error is the end of the input.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, owned, err := l.nextLine()
		if err != nil {
			return nil, err
		}
		text := trim(line)
		switch {
		case len(text) == 0:
		case !beginsMessage(text):
			if response := l.skip(text); response != nil {
				return response, nil
			}
		case owned:
			return text, nil
		default:
			return bytes.Clone(text), nil
		}
	}
}

// trim returns a line without what may be around a message.
func trim(line []byte) []byte { return bytes.Trim(bytes.TrimPrefix(line, byteOrderMark), blanks) }

// skip skips a line, except for a response in it, which it returns.
func (l *lineReader) skip(line []byte) (response []byte) {
	before, response := jsonrpc.CutResponse(line)
	if response != nil {
		line = before
	}
	l.skipped.add(line)
	return response
}

func beginsMessage(line []byte) bool { return line[0] == '{' || line[0] == '[' }

// nextLine returns the next line without its newline. Unless owned is true it is valid until the
// next call. A line over the bound is an error as soon as that is known; its rest is skipped.
func (l *lineReader) nextLine() (line []byte, owned bool, err error) {
	if l.discard {
		if err := l.skipRest(); err != nil {
			return nil, false, err
		}
	}
	for searched := 0; ; {
		if i := bytes.IndexByte(l.data[searched:], '\n'); i >= 0 {
			line, l.data = l.data[:searched+i], l.data[searched+i+1:]
			if len(line) > l.max {
				return nil, false, l.tooLongError(line)
			}
			return line, false, nil
		}
		searched = len(l.data)
		switch {
		case searched > l.max:
			err = l.tooLongError(l.data)
			l.discard, l.data = true, nil
			return nil, false, err
		case searched >= readBuffer:
			line, err = l.longLine()
			return line, true, err
		}
		if err = l.fill(); err != nil {
			line, l.data = l.data, nil
			line, err = l.lastLine(line, err)
			return line, false, err
		}
	}
}

func (l *lineReader) skipRest() error {
	for {
		if i := bytes.IndexByte(l.data, '\n'); i >= 0 {
			l.discard, l.data = false, l.data[i+1:]
			return nil
		}
		l.data = nil
		if err := l.fill(); err != nil {
			return err
		}
	}
}

// fill reads more of a line that is shorter than readBuffer.
func (l *lineReader) fill() error {
	if l.buffer == nil {
		l.buffer = make([]byte, readBuffer)
	}
	had := copy(l.buffer, l.data)
	l.data = l.buffer[:had] // while read blocks, no more is kept
	got, err := l.read(l.buffer[had:])
	l.data = l.buffer[:had+got]
	return err
}

func (l *lineReader) read(b []byte) (int, error) {
	for range maxEmpty {
		if l.err != nil {
			return 0, l.err
		}
		var n int
		if n, l.err = l.src.Read(b); n > 0 {
			return n, nil
		}
	}
	l.err = io.ErrNoProgress
	return 0, l.err
}

// longLine reads the rest of a line that fills the buffer, in pieces of doubling size, and
// joins them once: the message has its exact size, and the pieces are freed.
func (l *lineReader) longLine() ([]byte, error) {
	chunks := [][]byte{bytes.Clone(l.data)}
	total := len(l.data)
	l.data = nil
	for size := 2 * readBuffer; total <= l.max; size = min(2*size, maxChunk) {
		chunk := make([]byte, min(size, l.max+1-total))
		for had := 0; had < len(chunk); {
			got, err := l.read(chunk[had:])
			if err != nil {
				return l.lastLine(bytes.Join(append(chunks, chunk[:had]), nil), err)
			}
			if i := bytes.IndexByte(chunk[had:had+got], '\n'); i >= 0 {
				l.data = chunk[had+i+1 : had+got]
				return bytes.Join(append(chunks, chunk[:had+i]), nil), nil
			}
			had += got
		}
		chunks = append(chunks, chunk)
		total += len(chunk)
	}
	l.discard = true
	return nil, l.tooLongError(chunks[0])
}

// lastLine returns what remains at the end of the input, unless it is the beginning of a message.
func (l *lineReader) lastLine(rest []byte, err error) ([]byte, error) {
	text := trim(rest)
	switch {
	case len(text) == 0:
		return nil, err
	case !beginsMessage(text) || !isCutOff(text):
		return rest, nil
	case err == io.EOF:
		return nil, io.ErrUnexpectedEOF
	}
	return nil, err
}

// isCutOff reports whether a text is JSON without its end.
func isCutOff(text []byte) bool {
	var ignored struct{}
	return json.NewDecoder(bytes.NewReader(text)).Decode(&ignored) == io.ErrUnexpectedEOF
}

func (l *lineReader) tooLongError(line []byte) error {
	return &transport.MessageError{
		Prefix: bytes.Clone(line[:min(len(line), readBuffer)]),
		Err:    fmt.Errorf("%w: a message is over %d bytes, which MaxMessage of the transport can raise", transport.ErrMessageTooLarge, l.max),
	}
}
