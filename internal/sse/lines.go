package sse

import (
	"bufio"
	"bytes"
	"io"
	"sync"
)

const bufferSize = 4 << 10

var buffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, bufferSize) }}

var byteOrderMark = []byte("\xEF\xBB\xBF")

type lines struct {
	src source
	buf *bufio.Reader // over src; nil before the first line and after release
	max int           // bytes of a line

	afterCR  bool         // a following \n belongs to the line before
	gathered bytes.Buffer // the line so far, if it is not in the buffer as a whole
	length   int          // length of what was read of the line, dropped bytes included
	first    byte         // first byte of the line, if length is above 0
}

// source is a stream whose error stays.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (n int, err error) {
	if s.err == nil {
		n, s.err = s.Reader.Read(p)
	}
	return n, s.err
}

// next returns the next line without its end. It points into the buffer and is valid until the next
// call; if owned is set, the caller may keep it. For a comment, and for any line if skipping is
// set, only the first byte is certain. With an error it is the interrupted line, or empty.
func (l *lines) next(skipping bool) (line []byte, owned bool, err error) {
	if l.buf == nil {
		l.buf = buffers.Get().(*bufio.Reader)
		l.buf.Reset(&l.src)
		if start, _ := l.buf.Peek(len(byteOrderMark)); bytes.Equal(start, byteOrderMark) { // no event is shorter
			_, _ = l.buf.Discard(len(byteOrderMark))
		}
	}
	for {
		if _, err := l.buf.Peek(1); err != nil {
			line, owned = l.join(nil, skipping || l.first == ':')
			return line, owned, err
		}
		read, _ := l.buf.Peek(l.buf.Buffered())
		if l.afterCR {
			l.afterCR = false
			if read[0] == '\n' {
				_, _ = l.buf.Discard(1)
				continue
			}
		}
		end := lineEnd(read)
		if l.length == 0 && end > 0 {
			l.first = read[0]
		}
		length := l.length + end
		ignored := skipping || length > 0 && l.first == ':'
		complete, long := end < len(read), length > l.max && !ignored
		switch {
		case complete:
			l.afterCR = read[end] == '\r'
			line, owned = l.join(read[:end], ignored)
			_, _ = l.buf.Discard(1)
		case long, ignored: // the rest of a long line is for a caller who skips the line
			l.gathered, l.length = bytes.Buffer{}, length
		default:
			_, _ = l.gathered.Write(read)
			l.length = length
		}
		_, _ = l.buf.Discard(end)
		switch {
		case long:
			return nil, false, errLongLine
		case complete:
			return line, owned, nil
		}
	}
}

// lineEnd returns the index of the first \n or \r, len(b) if there is none.
func lineEnd(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[:i]
	}
	if i := bytes.IndexByte(b, '\r'); i >= 0 {
		b = b[:i]
	}
	return len(b)
}

// join returns a line that ends with part, and begins the next. owned means that the line does not
// point into the buffer.
func (l *lines) join(part []byte, ignored bool) (line []byte, owned bool) {
	switch {
	case l.length == 0:
		return part, false
	case ignored:
		line = []byte{l.first}
	default:
		_, _ = l.gathered.Write(part)
		line = l.gathered.Bytes()
	}
	l.gathered, l.length = bytes.Buffer{}, 0
	return line, true
}

func (l *lines) release() {
	if l.buf != nil {
		l.buf.Reset(nil)
		buffers.Put(l.buf)
		l.buf = nil
	}
}
