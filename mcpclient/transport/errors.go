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

// ServerError is an error with what the connection knows of the server, which gave no answer or came
// to its end.
type ServerError struct {
	Err    error
	Server string // that gave no answer: its command or URL, without secrets; "" if it has no name, or has ended
	Stderr string // the last lines of its standard error, as in a [ProcessError]

	// Skipped is the last line of its output that is not a message, at most 1 KiB; "" for none. A program
	// that is not a server, or writes its log there, is often the reason.
	Skipped string
}

// Error is the text of Err with what is known of the server.
func (e *ServerError) Error() string {
	more := ""
	if e.Server != "" {
		more = " (" + e.Server + " gave no answer)"
	}
	if e.Skipped != "" {
		more += fmt.Sprintf("; it wrote a line that is not a JSON-RPC message, the last: %q", e.Skipped)
	}
	if process, ok := e.Err.(*ProcessError); ok { // its text ends with what the server wrote
		return process.with(more)
	}
	if e.Stderr != "" {
		more += "; the server" + onStderr(e.Stderr)
	}
	return e.Err.Error() + more
}

// Unwrap returns Err.
func (e *ServerError) Unwrap() error { return e.Err }
