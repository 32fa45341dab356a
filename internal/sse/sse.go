// Package sse reads Server-Sent Events, the event streams of the WHATWG HTML
// standard, as a client receives them.
package sse

import (
	"fmt"
	"strconv"
	"time"
)

// MaxRetry is the longest [Event.Retry]; a server that asks for more gets this.
const MaxRetry = time.Hour

// Event is one event of a stream, or what a block of lines without data says
// about the stream itself.
type Event struct {
	// Type is "message" when the server named none.
	Type string

	// ID is for the Last-Event-ID header of a later request, as the server sent
	// it: it may hold bytes that a header does not take. HasID tells an empty id,
	// which forgets the ones before, from none.
	ID    string
	HasID bool

	// Data belongs to the caller, lines joined by \n, in the bytes of the
	// stream. It is nil when the block had no data field, and empty but not nil
	// when it had an empty one.
	Data []byte

	// Retry is how long to wait before connecting again, at most [MaxRetry].
	Retry    time.Duration
	HasRetry bool
}

// TooLargeError marks an event that was skipped because its data, or one of
// its lines, is over the bound.
type TooLargeError struct {
	Limit int // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("event over the bound of %d bytes", e.Limit)
}

// says reports whether the block of lines that ev was read from is worth
// reporting: the standard dispatches those with data, the others may still
// change the last event id or the time to wait.
func (ev *Event) says() bool {
	return ev.Data != nil || ev.HasID || ev.HasRetry
}

// parseRetry reads the value of a retry field: ASCII digits, else ignored.
func parseRetry(value []byte) (time.Duration, bool) {
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
