// Package transport moves the messages of the Model Context Protocol between a
// client and a server. Programs use its transports by their names in package
// mcpclient; this package is for hosts that bring one of their own.
//
// A [Transport] is a recipe, and its Dial makes a [Conn]: whole messages as bytes,
// any number of senders, one reader, and a Close that unblocks both. [Command] starts
// a process, [IO] takes a reader and a writer, and [Pipe] connects two ends in the
// process. Package streamable has HTTP.
//
// A transport of a host needs these two interfaces only. It may have the methods of
// others, and the client then does more:
//
//	of a Transport   Identifier, Bounded, Fallback
//	of a Conn        Killer, Explainer, Ender, Acknowledger, Redactor, Skipper, HeaderConn
//	of a Conn whose requests have responses of their own   Exchanger, with Session
//
// [As] finds them, also in a Conn that another one wraps ([Unwrapper]). Exchanger and
// HeaderConn are the exceptions: a Conn has them itself or not at all, as the client calls
// them instead of Send.
//
// Three errors tell what became of a message: [*MessageError] says that one message
// of the server could not be received, [*BrokenError] says that it is not known if a request had an effect, and
// [*OwnerError] that it was not sent.
package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// Transport is a recipe for reaching one server. Dial may be called again
// after the connection that it made has ended.
type Transport interface {
	// Dial opens a connection. The context bounds the opening only: the
	// connection outlives it. The error wraps [ErrDialedOnce] if there can be
	// no other connection.
	Dial(ctx context.Context) (Conn, error)
}

// Conn carries whole JSON-RPC messages, without framing.
type Conn interface {
	// Send hands over one message. Any number of goroutines may call it. An
	// error concerns this message only, unless Recv fails too. Send does not
	// keep message after it returned. It returns when ctx ends: then
	// the message was sent as a whole or not at all. The client's messages have no line breaks.
	Send(ctx context.Context, message []byte) error

	// Recv returns the next message, which then belongs to the caller. One
	// goroutine calls it. A [*MessageError] concerns one message and the
	// connection continues; any other error is its end, and io.EOF a regular one.
	Recv() ([]byte, error)

	// Close ends the connection and makes Send and Recv return. It may be
	// called more than once, from any goroutine, and returns when all that
	// belongs to the connection has ended.
	Close() error
}

// HeaderConn is a [Conn] over something like HTTP, whose messages have headers: a
// tunnel, a queue, an RPC of the host's own. A client calls its SendWithHeader
// instead of Send.
type HeaderConn interface {
	Conn

	// SendWithHeader is Send with what the header of the message would have over
	// Streamable HTTP, as the negotiated revision has it: Mcp-Protocol-Version,
	// and in the modern era Mcp-Method, Mcp-Name and the Mcp-Param-* that the
	// input schema of a tool asks for. The header is the callee's.
	SendWithHeader(ctx context.Context, message []byte, header http.Header) error
}

// missing is the error of a transport that is a nil pointer.
func missing(t Transport) error { return fmt.Errorf("no transport (a nil %T)", t) }

// DefaultMaxMessage bounds one message of a server in bytes, if a transport is
// given no other bound.
const DefaultMaxMessage = 32 << 20

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
