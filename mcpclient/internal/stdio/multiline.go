package stdio

import (
	"errors"
	"io"
	"strings"

	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// multiline is a message on several lines: some servers indent their JSON, in violation of the
// protocol. It begins with a line that ends within an object or array. Lines that are indented, or
// begin like the rest of one, continue it until its brackets are closed or another message begins.
type multiline struct {
	text  []byte // so far; nil when it exceeds the bound
	depth int    // open brackets; 0 if there is no such message
}

// beginsMultiline reports whether a line begins a message that continues.
func beginsMultiline(line []byte) bool {
	return strings.IndexByte("{[,", line[len(line)-1]) >= 0 && bracketBalance(line) > 0
}

// bracketBalance returns the number of brackets that a line opens minus those that it closes.
// Strings end within their line.
func bracketBalance(line []byte) (n int) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '{', '[':
			n++
		case '}', ']':
			n--
		case '"':
			for i++; i < len(line) && line[i] != '"'; i++ {
				if line[i] == '\\' {
					i++
				}
			}
		}
	}
	return n
}

// continues reports whether a line, which is not trimmed, belongs to the message.
func (s *multiline) continues(line []byte) bool {
	return s.depth > 0 && strings.IndexByte(" \t\"}]", line[0]) >= 0
}

// extend adds a line to the current message. It returns the message after its last line, and an
// error when it exceeds the bound.
func (l *lineReader) extend(line []byte) (message []byte, err error) {
	s := &l.multiline
	s.depth = max(0, s.depth+bracketBalance(line))
	switch {
	case s.text == nil:
	case len(s.text)+1+len(line) > l.max:
		err = l.tooLongError(s.text)
		s.text = nil
	default:
		s.text = append(append(s.text, ' '), line...)
	}
	if s.depth == 0 {
		message, s.text = s.text, nil
	}
	return message, err
}

// lineError returns the error to report after a line could not be read. The current message, if there
// is one, is cut off at the end of the input, or over the bound if the line belongs to it. The error
// is nil if that was reported before.
func (l *lineReader) lineError(err error) error {
	s := &l.multiline
	long, isLong := errors.AsType[*transport.MessageError](err)
	switch {
	case s.depth == 0:
	case !isLong && err == io.EOF:
		return io.ErrUnexpectedEOF
	case !isLong:
	case !s.continues(long.Prefix):
		*s = multiline{}
	case s.text == nil:
		return nil
	default:
		err = l.tooLongError(s.text)
		s.text = nil
	}
	return err
}
