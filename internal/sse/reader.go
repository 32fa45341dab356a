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
	skipping bool   // the rest of an event that is too large is skipped
	rest     []byte // see [Reader.Rest]
}

// NewReader returns a reader of r. maxEvent, in bytes and above 0, bounds the data of one event and
// each of its lines. Comments are not kept and have no bound.
//
// A reader reads up to 64 KiB beyond the returned event, and between two events it holds at most
// 4 KiB. NewReader panics if maxEvent is not above 0.
func NewReader(r io.Reader, maxEvent int) *Reader {
	if maxEvent <= 0 {
		panic("sse: maxEvent is not positive")
	}
	return &Reader{lines: lines{src: r, max: maxEvent + len("data: ")}}
}

// Next returns the next event as soon as its blank line has arrived. A block of lines without data
// is an event, too, if it sets the id or the retry time; other blocks without data are skipped.
//
// The errors are:
//   - io.EOF, when the stream ended between two events;
//   - io.ErrUnexpectedEOF, when it ended within an event, which is lost;
//   - a [*TooLargeError], after which Next continues with the next event;
//   - the error of the stream.
//
// With an error the event has no data. It has the fields that came before the cut and are useful
// without data: the retry time, which by the standard takes effect immediately, and for an event too
// large its id and type, if they came before its data.
func (r *Reader) Next() (Event, error) {
	var ev Event
	begun := false
	for {
		line, owned, err := r.lines.next(r.skipping)
		switch {
		case err == errLongLine:
			return r.skipEvent(ev)
		case err != nil:
			return r.finish(ev, begun, line, owned)
		case r.skipping:
			r.skipping = len(line) > 0
			continue
		case len(line) == 0 && ev.useful():
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

// AtEnd reports whether the stream is known to end after the returned events.
func (r *Reader) AtEnd() bool { return r.lines.err == io.EOF }

// Release returns the reader's memory to a pool. The reader must not be used afterwards; its events
// stay valid. A reader may also be left to the garbage collector.
func (r *Reader) Release() { r.lines.release() }

// Rest returns the data of an event that lacks only its blank line or the end of its last line, nil for none. Call it after
// Next has returned io.ErrUnexpectedEOF at the end of the stream. The standard drops such an event, but some servers send
// only such events; the content has to show that it is whole.
func (r *Reader) Rest() []byte { return r.rest }

// finish returns the last result of Next. The stream may have broken off within an event or a line.
// begun means that the event has a line before this one.
func (r *Reader) finish(ev Event, begun bool, line []byte, owned bool) (Event, error) {
	timing := Event{Retry: ev.Retry, HasRetry: ev.HasRetry}
	if r.lines.err != io.EOF {
		return timing, r.lines.err
	}
	if begun || r.skipping || len(line) > 0 && line[0] != ':' {
		r.lines.err = io.ErrUnexpectedEOF // also for later calls
	}
	if _, fits := r.field(&ev, line, owned); fits && !r.skipping {
		r.rest = ev.Data
	}
	return timing, r.lines.err
}

// skipEvent returns the result for an event that is too large. The next call of Next skips the rest.
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

// field adds a line that is not blank to the event. If owned is set, the line's memory may be kept. known is false for a
// comment and a field that the standard does not have. fits is false for data over the bound.
func (r *Reader) field(ev *Event, line []byte, owned bool) (known, fits bool) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		return true, r.data(ev, value, owned)
	case "event":
		ev.Type = "message"
		if len(value) > 0 && string(value) != ev.Type {
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
	default: // a comment (an empty name), or a field of a later standard
		return false, true
	}
	return true, true
}

// data adds a line of data to the event, if it fits.
func (r *Reader) data(ev *Event, value []byte, owned bool) (fits bool) {
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
