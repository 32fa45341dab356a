package sse

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

const (
	bufferSize    = 16 << 10
	maxEmptyReads = 100 // reads without bytes or error in a row, as in bufio
)

var (
	byteOrderMark = []byte("\xEF\xBB\xBF")
	errLongLine   = errors.New("line over the bound")
)

// Reader reads the events of one stream. It is not for concurrent use.
type Reader struct {
	src      io.Reader
	maxEvent int

	buf      []byte
	pos, lim int // buf[pos:lim] is not yet read
	lf, cr   int // the next of each in buf: out of date below pos, lim for none
	err      error

	started  bool   // past the byte order mark
	afterCR  bool   // a \n that comes next belongs to the line before
	part     []byte // the line so far, when it began in an earlier buffer
	skipping bool   // until the blank line that ends an event too large
}

// NewReader returns a reader of r. maxEvent, in bytes and above 0, bounds the
// data of one event and each of its lines. Comments are not kept and have no
// bound.
//
// A reader takes from r up to 16 KiB beyond the event that it returns.
func NewReader(r io.Reader, maxEvent int) *Reader {
	if maxEvent <= 0 {
		panic("sse: maxEvent is not positive")
	}
	return &Reader{src: r, maxEvent: maxEvent, buf: make([]byte, bufferSize), lf: -1, cr: -1}
}

// Next returns the next event as soon as its blank line has arrived. A block
// of lines that has no data is an event too when it sets the id or the time to
// wait; any other such block is skipped.
//
// The errors are:
//   - io.EOF, when the stream ended between two events;
//   - io.ErrUnexpectedEOF, when it ended within an event, which is lost;
//   - a [*TooLargeError], after which Next goes on with the event after;
//   - the error of the stream.
//
// Beside an error the event has no data. It has what the server said before
// the cut that is of use without it: the time to wait, which the standard lets
// take effect at once, and for an event too large its id and type, if they
// came before its data.
func (r *Reader) Next() (Event, error) {
	var ev Event
	begun := false
	for {
		line, owned, err := r.line()
		switch {
		case err == errLongLine:
			return r.skipEvent(ev)
		case err != nil:
			return r.ended(ev, begun || len(line) > 0 && line[0] != ':')
		case r.skipping:
			r.skipping = len(line) > 0
			continue
		case len(line) == 0 && ev.says():
			ev.setType()
			return ev, nil
		case len(line) == 0:
			ev, begun = Event{}, false
			continue
		}
		known, fits := r.field(&ev, line, owned)
		if !fits {
			return r.skipEvent(ev)
		}
		begun = begun || known
	}
}

// ended gives the last answer of a stream, which broke off within an event
// when begun is set.
func (r *Reader) ended(ev Event, begun bool) (Event, error) {
	if r.err == io.EOF && (begun || r.skipping) {
		r.err = io.ErrUnexpectedEOF // also for the calls that follow
	}
	return Event{Retry: ev.Retry, HasRetry: ev.HasRetry}, r.err
}

// skipEvent gives up the event that is being read.
func (r *Reader) skipEvent(ev Event) (Event, error) {
	r.skipping = true
	ev.Data = nil
	ev.setType()
	return ev, &TooLargeError{Limit: r.maxEvent}
}

func (ev *Event) setType() {
	if ev.Type == "" {
		ev.Type = "message"
	}
}

// field adds a line that is not blank to the event. When owned, the line's
// memory may be kept.
func (r *Reader) field(ev *Event, line []byte, owned bool) (known, fits bool) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		return true, r.data(ev, value, owned)
	case "event":
		ev.Type = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			ev.ID, ev.HasID = string(value), true
		}
	case "retry":
		if d, ok := parseRetry(value); ok {
			ev.Retry, ev.HasRetry = d, true
		}
	default: // a comment, whose name is empty, or a field of a later standard
		return false, true
	}
	return true, true
}

// data adds a line of data to the event, and reports whether it fits.
func (r *Reader) data(ev *Event, value []byte, owned bool) bool {
	switch {
	case len(value) > r.maxEvent:
		return false
	case ev.Data == nil && owned && len(value) > 0:
		ev.Data = value
	case ev.Data == nil:
		ev.Data = append(make([]byte, 0, len(value)), value...)
	case len(value) > r.maxEvent-len(ev.Data)-1:
		return false
	default:
		ev.Data = append(append(ev.Data, '\n'), value...)
	}
	return true
}

// line returns the next line without its end. It points into the buffer and is
// good until the next call, except when owned is set: then the caller may keep
// it. Of a line that will be ignored only the first byte is certain to be
// there. With an error it is the line that the stream broke off, or empty.
func (r *Reader) line() (line []byte, owned bool, err error) {
	if !r.started {
		r.skipByteOrderMark()
	}
	for {
		if r.pos == r.lim {
			if err := r.fill(0); err != nil {
				return r.part, true, err
			}
		}
		if r.afterCR {
			r.afterCR = false
			if r.buf[r.pos] == '\n' {
				r.pos++
				continue
			}
		}
		i := r.lineEnd()
		chunk, whole := r.buf[r.pos:i], i < r.lim
		r.pos = i
		if whole {
			r.pos++
			r.afterCR = r.buf[i] == '\r'
		}
		fits := r.keep(chunk, whole)
		switch {
		case !fits:
			return nil, false, errLongLine
		case whole && r.part == nil:
			return chunk, false, nil
		case whole:
			line, r.part = r.part, nil
			return line, true, nil
		}
	}
}

// keep adds chunk to a line that does not lie in the buffer as a whole, and
// reports whether the line is within its bound.
func (r *Reader) keep(chunk []byte, whole bool) bool {
	long := len(r.part)+len(chunk)-len("data: ") > r.maxEvent
	if whole && r.part == nil {
		return !long || r.skipping || chunk[0] == ':'
	}
	first := chunk
	if r.part != nil {
		first = r.part
	}
	switch {
	case r.skipping || first[0] == ':':
		if r.part == nil {
			r.part = []byte{first[0]}
		}
		return true
	case long && whole:
		r.part = nil
		return false
	case long:
		r.part = []byte{first[0]}
		return false
	}
	if len(r.part)+len(chunk) > cap(r.part) {
		r.part = slices.Grow(r.part, max(len(chunk), cap(r.part)))
	}
	r.part = append(r.part, chunk...)
	return true
}

// lineEnd returns the index of the byte that ends the line at pos, or lim when
// the line goes on. Both searches pass over a buffer once, whatever its lines.
func (r *Reader) lineEnd() int {
	r.lf = r.next('\n', r.lf)
	r.cr = r.next('\r', r.cr)
	return min(r.lf, r.cr)
}

func (r *Reader) next(c byte, known int) int {
	if known >= r.pos {
		return known
	}
	if i := bytes.IndexByte(r.buf[r.pos:r.lim], c); i >= 0 {
		return r.pos + i
	}
	return r.lim
}

// skipByteOrderMark reads only until it knows that there is one, or none.
func (r *Reader) skipByteOrderMark() {
	r.started = true
	for r.lim < len(byteOrderMark) && bytes.HasPrefix(byteOrderMark, r.buf[:r.lim]) {
		if r.fill(r.lim) != nil {
			return
		}
	}
	if bytes.HasPrefix(r.buf[:r.lim], byteOrderMark) {
		r.pos = len(byteOrderMark)
	}
}

// fill reads into the buffer at start, of which everything before is read or,
// at the beginning of the stream, kept.
func (r *Reader) fill(start int) error {
	if r.err != nil {
		return r.err
	}
	if start == 0 {
		r.pos, r.lim, r.lf, r.cr = 0, 0, -1, -1
	}
	for range maxEmptyReads {
		n, err := r.src.Read(r.buf[start:])
		r.err = err
		r.lim = start + n
		switch {
		case n > 0:
			return nil
		case err != nil:
			return err
		}
	}
	r.err = io.ErrNoProgress
	return r.err
}
