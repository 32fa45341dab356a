// Package sse reads Server-Sent Events, the event streams of the WHATWG HTML standard, as a client receives them.
package sse

import (
	"fmt"
	"strconv"
	"time"
)

// MaxRetry is the longest [Event.Retry]; a longer time becomes this.
const MaxRetry = time.Hour

// Event is one event of a stream, or a block of lines without data about the stream itself.
type Event struct {
	// Type is "message" if the server named none.
	Type string

	// ID is for the Last-Event-ID header of a later request, unchanged: it may hold bytes that a
	// header does not take. HasID distinguishes an empty id from none; an empty id deletes the last id.
	ID    string
	HasID bool

	// Data belongs to the caller: lines joined by \n, in the bytes of the stream. It is nil if the
	// block had no data field, and empty but not nil if the field was empty.
	Data []byte

	// Retry is the wait before connecting again, at most [MaxRetry].
	Retry    time.Duration
	HasRetry bool
}

// TooLargeError marks an event that was skipped because its data, or a line, is over the bound.
type TooLargeError struct {
	Limit int // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("event over the bound of %d bytes", e.Limit)
}

// useful reports whether Next returns the event: the standard dispatches blocks
// with data; other blocks may still set the last event id or the retry time.
func (ev *Event) useful() bool {
	return ev.Data != nil || ev.HasID || ev.HasRetry
}

// parseRetry reads the value of a retry field. ok is false if it is not ASCII digits; the standard then ignores the field.
func parseRetry(value []byte) (retry time.Duration, ok bool) {
	if len(value) == 0 {
		return 0, false
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	ms, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || ms > MaxRetry.Milliseconds() { // the only error left is a range error
		return MaxRetry, true
	}
	return time.Duration(ms) * time.Millisecond, true
}
