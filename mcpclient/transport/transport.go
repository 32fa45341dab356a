// Package transport is what a client needs to exchange messages with a server. Programs use the
// transports of package mcpclient; this package has their errors and tokens, and the interfaces of a transport
// that a host brings.
//
// A [Transport] is a recipe, and its Dial makes a [Conn]: whole messages as bytes,
// any number of senders, one reader, and a Close that unblocks both.
//
// A transport of a host needs these two interfaces only. It may have more methods, and the client then does more:
//
//	of a Transport
//	ConnectTimeout() time.Duration   bounds connecting if the caller sets no bound; otherwise 10 min
//	Identity() string                a text of its own for each server, for a mcpclient.EraCache
//
//	of a Conn, or of one that a method Unwrap() Conn returns
//	Kill()                           makes Close return soon, without waiting for the server
//	Err() error                      why messages cannot be sent any more, nil while they can
//	Explain(err error) error         adds to err what is known of a server that does not answer
//	Acknowledged() bool              whether Send waits until the server has confirmed the message
//	Redact(text string) string       replaces secrets in a text for an error or a log
//	OnSkip(func(line string))        sets what is called with each text that is not a message
//
//	of a Conn itself, called instead of Send: with the headers that the message has over HTTP
//	SendWithHeader(ctx context.Context, message []byte, header http.Header) error
//	… or with a number for the message, by which a connection that has ended tells of what it wrote nothing
//	SendNumbered(ctx context.Context, message []byte) (number int64, err error)
//	Unwritten(number int64) bool
//
// Two errors tell what became of a message: [*MessageError] says that one message
// of the server could not be received, [*BrokenError] that it is not known if a request had an effect.
//
// A token that changes comes from a [TokenSource]: [Bearer] is one that the program sets,
// package oauth signs in, and a host may bring a source of its own. An [HTTPError] is a
// failure that the HTTP status tells.
package transport

import "context"

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
