package sse

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

const (
	minBuffer     = 4 << 10
	maxBuffer     = 64 << 10
	maxReused     = 16  // buffers of one line, so that a pool does not keep 10 MiB alive
	maxEmptyReads = 100 // reads without bytes or error in a row, as in bufio
)

// A stream reads into a buffer of minBuffer bytes, which is enough for most, and the rest
// of a line longer than that into buffers of maxBuffer bytes.
var (
	buffers     = sync.Pool{New: func() any { return new([minBuffer]byte) }}
	longBuffers = sync.Pool{New: func() any { return new([maxBuffer]byte) }}
)

var errReleased = errors.New("reader was released")

var byteOrderMark = []byte("\xEF\xBB\xBF")

// lines splits a stream. A line longer than the buffer is gathered in several buffers, and joined
// when its length is known, so that it is in memory twice at most.
type lines struct {
	src io.Reader
	max int // bytes of a line
	err error

	buf      []byte
	pos, lim int // buf[pos:lim] is not yet read
	lf, cr   found

	started bool // past the byte order mark
	afterCR bool // a following \n belongs to the line before

	gathered [][]byte // the line so far
	length   int      // length of the line before buf[pos], dropped bytes included
	first    byte     // first byte of the line, if length is above 0
}

// found is the index of a byte in the buffer (ok), or the end of the searched part.
type found struct {
	at int
	ok bool
}

// next returns the next line without its end. It points into the buffer and is valid until the next
// call; if owned is set, the caller may keep it. For a comment, and for any line if skipping is
// set, only the first byte is certain. With an error it is the interrupted line, or empty.
func (l *lines) next(skipping bool) (line []byte, owned bool, err error) {
	if !l.started {
		l.skipByteOrderMark()
	}
	for {
		if l.afterCR && l.pos < l.lim {
			l.afterCR = false
			if l.buf[l.pos] == '\n' {
				l.pos++
			}
		}
		end := min(l.find('\n', &l.lf), l.find('\r', &l.cr))
		chunk, complete := l.buf[l.pos:end], end < l.lim
		if l.length == 0 && len(chunk) > 0 {
			l.first = chunk[0]
		}
		ignored := skipping || l.first == ':' && l.length+len(chunk) > 0
		switch long := l.length+len(chunk) > l.max && !ignored; {
		case complete:
			l.pos = end + 1
			l.afterCR = l.buf[end] == '\r'
			line, owned = l.join(chunk, ignored)
			if long {
				return nil, false, errLongLine
			}
			return line, owned, nil
		case long: // the rest is for a caller who skips the line
			l.drop()
			return nil, false, errLongLine
		case ignored:
			l.drop()
		}
		if err := l.more(); err != nil {
			line, owned = l.join(l.buf[l.pos:l.lim], ignored)
			l.pos = l.lim
			return line, owned, err
		}
	}
}

// find returns the index of the next c, or lim. It scans a buffer only once.
func (l *lines) find(c byte, f *found) int {
	if f.ok && f.at >= l.pos {
		return f.at
	}
	from := max(f.at, l.pos)
	*f = found{at: l.lim}
	if i := bytes.IndexByte(l.buf[from:l.lim], c); i >= 0 {
		*f = found{at: from + i, ok: true}
	}
	return f.at
}

// join returns a line whose last bytes are chunk, and begins the next. owned means that the line
// does not point into a buffer.
func (l *lines) join(chunk []byte, ignored bool) (line []byte, owned bool) {
	switch {
	case l.length == 0:
		return chunk, false
	case ignored:
		line = []byte{l.first}
	default:
		line = bytes.Join(append(l.gathered, chunk), nil)
	}
	for _, b := range l.gathered[:min(len(l.gathered), maxReused)] {
		putBuffer(b)
	}
	l.gathered, l.length = nil, 0
	return line, true
}

// drop forgets the read part of an ignored line.
func (l *lines) drop() {
	l.length += l.lim - l.pos
	l.gathered, l.pos = nil, l.lim
}

// more reads once. The buffer begins with a line.
func (l *lines) more() error {
	if l.err != nil {
		return l.err
	}
	switch {
	case l.pos == l.lim:
		l.setBuffer(minBuffer)
	case l.lim < len(l.buf):
	case l.pos > 0:
		l.move()
	default:
		l.gathered = append(l.gathered, l.buf)
		l.length += len(l.buf)
		l.buf = nil
		l.setBuffer(maxBuffer)
	}
	return l.read()
}

// setBuffer starts an empty buffer of size bytes: minBuffer or maxBuffer.
func (l *lines) setBuffer(size int) {
	l.pos, l.lim, l.lf, l.cr = 0, 0, found{}, found{}
	if len(l.buf) == size {
		return
	}
	putBuffer(l.buf)
	if size == minBuffer {
		l.buf = buffers.Get().(*[minBuffer]byte)[:]
	} else {
		l.buf = longBuffers.Get().(*[maxBuffer]byte)[:]
	}
}

// move copies the unread bytes to the beginning of the buffer.
func (l *lines) move() {
	copy(l.buf, l.buf[l.pos:l.lim])
	l.lf.at, l.cr.at = max(0, l.lf.at-l.pos), max(0, l.cr.at-l.pos)
	l.lim -= l.pos
	l.pos = 0
}

// read reads into the free end of the buffer, until a byte arrives. Its error stays.
func (l *lines) read() error {
	for range maxEmptyReads {
		n, err := l.src.Read(l.buf[l.lim:])
		l.err = err
		l.lim += n
		switch {
		case n > 0:
			return nil
		case err != nil:
			return err
		}
	}
	l.err = io.ErrNoProgress
	return l.err
}

// skipByteOrderMark reads only as far as it needs to decide.
func (l *lines) skipByteOrderMark() {
	l.started = true
	l.setBuffer(minBuffer)
	for l.lim < len(byteOrderMark) && bytes.HasPrefix(byteOrderMark, l.buf[:l.lim]) {
		if l.read() != nil {
			return
		}
	}
	if bytes.HasPrefix(l.buf[:l.lim], byteOrderMark) {
		l.pos = len(byteOrderMark)
	}
}

// release returns the buffer to its pool. What was gathered of a line is left to the garbage collector.
func (l *lines) release() {
	putBuffer(l.buf)
	*l = lines{started: true, err: errReleased}
}

// putBuffer returns a buffer to its pool. Other slices are ignored.
func putBuffer(b []byte) {
	switch len(b) {
	case minBuffer:
		buffers.Put((*[minBuffer]byte)(b))
	case maxBuffer:
		longBuffers.Put((*[maxBuffer]byte)(b))
	}
}
