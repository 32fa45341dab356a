// Package wire defines what a client uses of connections beyond sending and receiving. The
// interfaces are optional: a client looks for [Identifier] in each transport and for the
// others in each connection, and works without them.
package wire

import (
	"context"

	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// DefaultMaxMessage bounds a server's message in bytes, if a transport has no other bound.
const DefaultMaxMessage = 32 << 20

// Identifier is a [transport.Transport] that identifies its server.
type Identifier interface {
	// Identity returns a unique text for each server, such as a URL or a command line, or "" if
	// unknown. It may contain secrets: a client only compares it.
	Identity() string
}

// Unwrapper is a [transport.Conn] that wraps another Conn. Optional methods that it lacks are
// looked up there.
type Unwrapper interface {
	Unwrap() transport.Conn
}

// Killer is a [transport.Conn] that can end without waiting for its server.
type Killer interface {
	// Kill makes current and later calls of Close return soon. It does not wait.
	Kill()
}

// Explainer is a [transport.Conn] that knows more about a server that does not answer.
type Explainer interface {
	// Explain returns an error that wraps err, and says what the server is and what it wrote in
	// addition to its messages.
	Explain(err error) error
}

// Ender is a [transport.Conn] that knows whether it has ended before Recv says so.
type Ender interface {
	// Err returns why messages can no longer be sent, nil while they can, and io.EOF if the
	// server closed the connection. Messages may still be received.
	Err() error
}

// Acknowledger is a [transport.Conn] that says what the return of Send means.
type Acknowledger interface {
	// Acknowledged reports whether Send waits until the server has confirmed the message. If
	// so, the server may have received a message whose Send failed. If not, Send blocks only if
	// the server has stopped reading.
	Acknowledged() bool
}

// Redactor is a [transport.Conn] that knows secrets, which a server may repeat.
type Redactor interface {
	// Redact removes them from text for an error or a log.
	Redact(text string) string
}

// Skipper is a [transport.Conn] that skips text of the server that is not a message.
type Skipper interface {
	// OnSkip sets the function that is called with each skipped line, in order, on the
	// goroutine that calls Recv. A line is cut to 1 KiB. If lines were skipped before, OnSkip
	// calls it with the last of them. The client calls OnSkip before its first Recv.
	OnSkip(skipped func(line string))
}

// Numberer is a [transport.Conn] that knows which messages it had not begun to write when it
// ended by itself. A client calls SendNumbered instead of Send.
type Numberer interface {
	transport.Conn

	// SendNumbered is Send, and returns a number for the message.
	SendNumbered(ctx context.Context, message []byte) (number int64, err error)

	// Unwritten reports whether nothing of a message was written, nor will be.
	Unwritten(number int64) bool
}

// As looks up an optional interface in a Conn, or in a Conn that it wraps.
func As[T any](c transport.Conn) (T, bool) {
	for range maxWrapped {
		if found, ok := c.(T); ok {
			return found, true
		}
		w, ok := c.(Unwrapper)
		if !ok {
			break
		}
		c = w.Unwrap()
	}
	var none T
	return none, false
}

const maxWrapped = 100
