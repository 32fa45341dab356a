package transport

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed is the error of a connection that was closed.
	ErrClosed = errors.New("transport: connection closed")

	// ErrMessageTooLarge marks a message over the transport's bound.
	ErrMessageTooLarge = errors.New("transport: message too large")

	// ErrDialedOnce marks the second Dial of a transport that has one connection.
	ErrDialedOnce = errors.New("it can be dialed once")
)

// MessageError says that one message of the server could not be received.
type MessageError struct {
	// Prefix is how the message began, 2 KiB of it in the transports of this package, to tell
	// what it belonged to. It may be empty.
	Prefix []byte
	Err    error
}

// Error is the text of Err.
func (e *MessageError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *MessageError) Unwrap() error { return e.Err }

// BrokenError marks a request whose response did not come to its end, or did not
// begin, because of the network. What the server did is not known.
type BrokenError struct {
	Err error

	// Begun says that the response had begun: the server has taken the request.
	Begun bool
}

// Error is the text of Err.
func (e *BrokenError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *BrokenError) Unwrap() error { return e.Err }

// ProcessError says how the process of a mcpclient.Command transport came to its end.
type ProcessError struct {
	Command string // the program, without its arguments
	Status  string // "exit status 3", "signal: killed", or why it did not start
	Stderr  string // the last lines of its standard error, at most 2 KiB; of a long report the first and the last
}

// Error has the program, its end, and what it wrote to its standard error.
func (e *ProcessError) Error() string { return e.with("") }

// with is the text of the error with more about its end.
func (e *ProcessError) with(more string) string {
	s := fmt.Sprintf("server %q: %s%s", e.Command, e.Status, more)
	if e.Stderr != "" {
		s += "; it" + onStderr(e.Stderr)
	}
	return s
}

// onStderr is how errors show what a process said there, as it was written: people
// read it.
func onStderr(said string) string { return " wrote to stderr:\n" + said }

// SilenceError is the error of a server that gave no answer, with what its connection knows.
type SilenceError struct {
	Err    error
	Server string // such as its command or URL, without secrets; "" if it has no name
	Stderr string // the last lines of its standard error, as in a [ProcessError]
}

// Error is the text of Err with the server and what it wrote.
func (e *SilenceError) Error() string { return e.with("") }

// with is the text of the error with more about the silence.
func (e *SilenceError) with(more string) string {
	s := e.Err.Error()
	if e.Server != "" {
		s += " (" + e.Server + " gave no answer)"
	}
	if s += more; e.Stderr != "" {
		s += "; the server" + onStderr(e.Stderr)
	}
	return s
}

// Unwrap returns Err.
func (e *SilenceError) Unwrap() error { return e.Err }

// SkippedError is the error of a connection on which the server wrote lines that are not
// messages. A program that is not a server, or writes its log there, is often the reason.
type SkippedError struct {
	Err    error
	Count  int    // of the lines
	Latest string // the last of them, at most 1 KiB
}

// Error is the text of Err with the count and the last line.
func (e *SkippedError) Error() string {
	skipped := fmt.Sprintf("; lines skipped because they are not JSON-RPC messages: %d, the last: %q", e.Count, e.Latest)
	if longer, ok := e.Err.(interface{ with(more string) string }); ok { // its text ends with what the server wrote
		return longer.with(skipped)
	}
	return e.Err.Error() + skipped
}

// Unwrap returns Err.
func (e *SkippedError) Unwrap() error { return e.Err }
