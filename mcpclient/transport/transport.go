// Package transport defines how a client exchanges messages with a server. Programs use the
// transports of package mcpclient; this package has their errors and tokens, and the interfaces
// that a transport of your own implements.
//
// A [Transport] describes how to connect, and its Dial returns a [Conn]: messages as bytes, any
// number of senders, one reader, and a Close that unblocks both.
//
// A transport needs only these two interfaces. The client also uses these methods if there are any:
//
//	of the Transport
//	Identity() string                a text of its own for each server, for a mcpclient.EraCache
//
//	of the Conn, or of the Conn that its method Unwrap() Conn returns
//	Kill()                           makes Close return soon, without waiting for the server
//	Err() error                      why messages cannot be sent any more, nil while they can
//	Explain(err error) error         adds to err what is known of a server that does not answer
//	Acknowledged() bool              whether Send waits until the server has confirmed the message
//	Redact(text string) string       replaces secrets in a text for an error or a log
//	OnSkip(func(line string))        sets what is called with each text that is not a message
//
//	of the Conn itself: SendNumbered replaces Send; after the end, Unwritten reports whether no byte of a message was written
//	SendNumbered(ctx context.Context, message []byte) (number int64, err error)
//	Unwritten(number int64) bool
//
// Two errors say what happened to a message: a [*MessageError] says that one message of the server
// could not be received, and a [*BrokenError] that it is unknown whether a request had an effect.
// An [*HTTPError] is a failure that an HTTP status reports.
//
// A token that changes comes from a [TokenSource]: [Bearer] is one that the program sets, and a
// host may implement its own. Package oauth has none: it signs in with an http.Client, for
// mcpclient.HTTP.Client.
package transport

import "context"

// Transport describes how to connect to one server. Dial may be called again after the connection
// that it returned has ended; clients that share a Transport may call it concurrently.
type Transport interface {
	// Dial opens a connection. ctx bounds only the opening: the connection outlives it. The
	// error wraps [ErrDialedOnce] if there can be no other connection.
	Dial(ctx context.Context) (Conn, error)
}

// Conn carries JSON-RPC messages, without framing.
type Conn interface {
	// Send sends one message, which has no line breaks. Any number of goroutines may call it. An
	// error concerns this message only, unless Recv fails too. Send does not keep message after
	// it returns. It returns when ctx ends; then the message was sent completely or not at all.
	Send(ctx context.Context, message []byte) error

	// Recv returns the next message, which then belongs to the caller. Only one goroutine calls
	// it. A [*MessageError] concerns one message, and the connection continues; any other error
	// is its end, io.EOF the regular one.
	Recv() ([]byte, error)

	// Close ends the connection and makes Send and Recv return. It may be called more than once,
	// from any goroutine, and returns when everything that belongs to the connection has ended.
	Close() error
}
