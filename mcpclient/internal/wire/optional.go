// Package wire has what a client asks of connections beyond sending and receiving. The interfaces are
// optional: a client asks each transport for the first ones and each connection for the others, and does without
// what it does not find.
package wire

import (
	"context"
	"net/http"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// DefaultMaxMessage bounds one message of a server in bytes, if a transport is
// given no other bound.
const DefaultMaxMessage = 32 << 20

// Identifier is a [transport.Transport] that tells its servers apart.
type Identifier interface {
	// Identity is a text of its own for each server, such as a URL or a command
	// line, "" if that cannot be told. A client keeps a digest of it to remember
	// which revision the server speaks; it may have secrets.
	Identity() string
}

// Bounded is a [transport.Transport] that connects without a person's help.
type Bounded interface {
	// ConnectTimeout bounds connecting, the handshake included, if the caller of
	// the client sets no bound. Without this method that is 10 min: a person
	// may have to log in.
	ConnectTimeout() time.Duration
}

// Unwrapper is a [transport.Conn] around another Conn. The optional methods that it lacks are
// looked for there.
type Unwrapper interface {
	Unwrap() transport.Conn
}

// Killer is a [transport.Conn] that can end without waiting for its server.
type Killer interface {
	// Kill makes Close return soon, the running one as well as a later one. It
	// does not wait.
	Kill()
}

// Explainer is a [transport.Conn] that knows more about a server that does not answer.
type Explainer interface {
	// Explain returns an error that wraps err, and says what the server is and what it
	// said beside its messages.
	Explain(err error) error
}

// Ender is a [transport.Conn] that knows whether it has ended before Recv says so.
type Ender interface {
	// Err is why messages cannot be sent any more, nil while they can, and io.EOF
	// if the server closed the connection. Messages may still be received.
	Err() error
}

// Acknowledger is a [transport.Conn] that tells what a return of Send means.
type Acknowledger interface {
	// Acknowledged reports whether Send waits until the server has confirmed the
	// message. If it does, the server may have a message whose Send failed. If it
	// does not, only a server that has stopped reading makes Send wait.
	Acknowledged() bool
}

// Redactor is a [transport.Conn] that knows secrets, which a server may repeat.
type Redactor interface {
	// Redact replaces them in text for an error or a log.
	Redact(text string) string
}

// Skipper is a [transport.Conn] that skips text of the server that is not a message.
type Skipper interface {
	// OnSkip sets the function that is called with each skipped line, in the order of
	// arrival and on the goroutine that calls Recv. A line is cut to 1 KiB. If lines were
	// skipped before, OnSkip calls it with the last of them. The client calls OnSkip before
	// its first Recv.
	OnSkip(skipped func(line string))
}

// As finds an optional interface on a Conn, or on a Conn that it wraps. It returns
// false if none has it.
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

// maxWrapped bounds a chain of Unwrap.
const maxWrapped = 100

// Numberer is a [transport.Conn] that knows of what it wrote nothing when it ended by itself. A client calls
// its SendNumbered instead of Send.
type Numberer interface {
	transport.Conn

	// SendNumbered is Send, and gives the message a number.
	SendNumbered(ctx context.Context, message []byte) (number int64, err error)

	// Unwritten reports whether nothing of a message was written, nor will be.
	Unwritten(number int64) bool
}

// HeaderConn is a [transport.Conn] over something like HTTP, whose messages have headers: a
// tunnel, a queue, an RPC of the host's own. A client calls its SendWithHeader
// instead of Send.
type HeaderConn interface {
	transport.Conn

	// SendWithHeader is Send with what the header of the message would have over
	// Streamable HTTP, as the negotiated revision has it: Mcp-Protocol-Version,
	// and in the modern era Mcp-Method, Mcp-Name and the Mcp-Param-* that the
	// input schema of a tool asks for. The header is the callee's.
	SendWithHeader(ctx context.Context, message []byte, header http.Header) error
}
