package sse

import (
	"bytes"
	"errors"
	"io"
)

var errLongLine = errors.New("line over the bound")

// Reader reads the events of one stream. It is not for concurrent use.
type Reader struct {
	lines    lines
	skipping bool // until the blank line that ends an event too large
	rest     []byte
}

// NewReader returns a reader of r. maxEvent, in bytes and above 0, bounds the
// data of one event and each of its lines. Comments are not kept and have no
// bound.
//
// A reader takes from r up to 256 KiB beyond the event that it returns, and
// between two events it holds no more than 4 KiB.
func NewReader(r io.Reader, maxEvent int) *Reader {
	if maxEvent <= 0 {
		panic("sse: maxEvent is not positive")
	}
	return &Reader{lines: lines{src: r, max: maxEvent + len("data: ")}}
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
		line, owned, err := r.lines.next(r.skipping)
		switch {
		case err == errLongLine:
			return r.skipEvent(ev)
		case err != nil:
			return r.ended(ev, begun, line, owned)
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

// AtEnd reports whether the end of the stream has come already, behind the
// events that were returned.
func (r *Reader) AtEnd() bool { return r.lines.err == io.EOF }

// Release gives the memory of the reader back, which must not be used any more.
// What its events have stays good. A reader may also be left to the garbage
// collector.
func (r *Reader) Release() { r.lines.release() }

// Rest returns the data of an event that lacks nothing but its blank line or the
// end of its last line, after Next has returned io.ErrUnexpectedEOF at the end
// of the stream; nil for none. The standard drops such an event, and some
// servers send no other: it is whole if what it holds can tell.
func (r *Reader) Rest() []byte { return r.rest }

// ended gives the last answer of a stream, which may have broken off within an
// event, and within a line.
func (r *Reader) ended(ev Event, begun bool, line []byte, owned bool) (Event, error) {
	said := Event{Retry: ev.Retry, HasRetry: ev.HasRetry}
	if r.lines.err != io.EOF {
		return said, r.lines.err
	}
	if begun || r.skipping || len(line) > 0 && line[0] != ':' {
		r.lines.err = io.ErrUnexpectedEOF // also for the calls that follow
	}
	if _, fits := r.field(&ev, line, owned); fits && !r.skipping {
		r.rest = ev.Data
	}
	return said, r.lines.err
}

// skipEvent gives up the event that is being read.
func (r *Reader) skipEvent(ev Event) (Event, error) {
	r.skipping = true
	ev.Data = nil
	ev.setType()
	return ev, &TooLargeError{Limit: r.maxEvent()}
}

func (r *Reader) maxEvent() int { return r.lines.max - len("data: ") }

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
		if ev.Type = "message"; len(value) > 0 && string(value) != ev.Type {
			ev.Type = string(value)
		}
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
	case len(value) > r.maxEvent():
		return false
	case ev.Data == nil && owned && len(value) > 0:
		ev.Data = value
	case ev.Data == nil:
		ev.Data = append(make([]byte, 0, len(value)), value...)
	case len(value) > r.maxEvent()-len(ev.Data)-1:
		return false
	default:
		ev.Data = append(append(ev.Data, '\n'), value...)
	}
	return true
}
