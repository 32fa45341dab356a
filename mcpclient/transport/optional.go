package transport

import "time"

// The interfaces below are optional: a client asks each Transport for the first
// ones and each Conn for the others, and does without what it does not find. A
// Conn that wraps another has its methods too, by [Unwrapper].

// Identifier is a [Transport] that tells its servers apart.
type Identifier interface {
	// Identity is a text of its own for each server, such as a URL or a command
	// line, "" if that cannot be told. A client keeps a digest of it to remember
	// which revision the server speaks; it may have secrets.
	Identity() string
}

// Bounded is a [Transport] that connects without a person's help.
type Bounded interface {
	// ConnectTimeout bounds connecting, the handshake included, if the caller of
	// the client sets no bound. Without this method that is 10 min: a person
	// may have to log in.
	ConnectTimeout() time.Duration
}

// Fallback is a [Transport] whose servers may speak an older form of it.
type Fallback interface {
	// Fallback returns the transport to use if the server answered the request
	// initialize with err, and its name for texts; nil if err is final.
	Fallback(err error) (t Transport, name string)
}

// Unwrapper is a [Conn] around another Conn. The optional methods that it lacks are
// looked for there.
type Unwrapper interface {
	Unwrap() Conn
}

// Killer is a [Conn] that can end without waiting for its server.
type Killer interface {
	// Kill makes Close return soon, the running one as well as a later one. It
	// does not wait.
	Kill()
}

// Explainer is a [Conn] that knows more about a server that does not answer.
type Explainer interface {
	// Explain returns an error that wraps err, and says what the server is and what it
	// said beside its messages.
	Explain(err error) error
}

// Ender is a [Conn] that knows whether it has ended before Recv says so.
type Ender interface {
	// Err is why messages cannot be sent any more, nil while they can, and io.EOF
	// if the server closed the connection. Messages may still be received.
	Err() error
}

// Acknowledger is a [Conn] that tells what a return of Send means.
type Acknowledger interface {
	// Acknowledged reports whether Send waits until the server has confirmed the
	// message. If it does, the server may have a message whose Send failed. If it
	// does not, only a server that has stopped reading makes Send wait.
	Acknowledged() bool
}

// Redactor is a [Conn] that knows secrets, which a server may repeat.
type Redactor interface {
	// Redact replaces them in text for an error or a log.
	Redact(text string) string
}

// Skipper is a [Conn] that skips text of the server that is not a message.
type Skipper interface {
	// OnSkip sets the function that is called with each skipped line, in the order of
	// arrival and on the goroutine that calls Recv. A line is cut to 1 KiB. If lines were
	// skipped before, OnSkip calls it with the last of them. The client calls OnSkip before
	// its first Recv.
	OnSkip(skipped func(line string))
}

// As finds an optional interface on a Conn, or on a Conn that it wraps. It returns
// false if none has it.
func As[T any](c Conn) (T, bool) {
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
