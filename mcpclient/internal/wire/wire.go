// Package wire defines what a client uses of connections beyond sending and receiving. The
// interfaces are optional: a client looks for [Identifier] in each transport and for the
// others in each connection, and works without them.
package wire

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// DefaultMaxMessage bounds a server's message in bytes, if a transport has no other bound.
const DefaultMaxMessage = 32 << 20

// Identifier is a [transport.Transport] that identifies its server.
type Identifier interface {
	// Identity returns a unique text for each server, such as a URL or a command line, or "" if
	// unknown. It may contain secrets: a client keeps it, and only compares it.
	Identity() string
}

// Unwrapper is a [transport.Conn] that wraps another Conn. Optional methods that it lacks are looked up there.
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

// Exchanger is a [transport.Conn] on which every request has a response of its own, as over HTTP. A
// client calls its Exchange, Post and Listen instead of Send and Recv, any number of them at the
// same time. Each ends with its ctx. What goes wrong with one exchange concerns that call alone.
type Exchanger interface {
	transport.Conn

	// Exchange sends a request and passes every message of its response to deliver, in order and on
	// this goroutine, until deliver is satisfied or the response ends. deliver may keep a message,
	// but does not change it. The error is a [*transport.BrokenError] if it is unknown what the
	// server did, and an [*OwnerError] if the request was not sent because of its token.
	Exchange(ctx context.Context, m *Message, deliver func(message []byte) (satisfied bool)) error

	// Post sends a message that has no response. The errors are like Exchange's.
	Post(ctx context.Context, m *Message) error

	// Listen passes the messages of the server's standalone stream to deliver, until ctx ends. It
	// returns nil if the server has no such stream, and a [LostSessionError] if the session is lost,
	// or the server may only have no stream. It calls open whenever the stream is open; resumed says
	// that the server was asked to continue where the stream had ended.
	Listen(ctx context.Context, m *Message, open func(resumed bool), deliver func(message []byte)) error

	// EndCalls ends all calls of Exchange, and later ones at once.
	EndCalls()

	// HasSessions reports whether there are sessions on the server to end.
	HasSessions() bool

	// EndSessions ends everything in progress, then the sessions on the server.
	EndSessions(ctx context.Context)

	// Session is the session of the next message, nil for none.
	Session() Session

	// Owner returns what distinguishes the user for whom the next request is sent from other
	// users; "" if there is only one user.
	Owner(ctx context.Context) (string, error)
}

// TokenSource names the source of tokens in the bound.PanicError of an exchange whose source has
// panicked. The client logs the stack.
const TokenSource = "source"

// Session is a session on the server. Two of them can be compared by ==. Its methods may be
// called concurrently.
type Session interface {
	// ID is the id that the server gave it.
	ID() string

	// Ended reports whether the session has ended. Then nothing is sent in it.
	Ended() bool

	// SetEnded records that the server has forgotten the session, or knows it after all.
	SetEnded(ended bool)
}

// Message is a message on its way to an [Exchanger].
type Message struct {
	Body   []byte
	Header http.Header // shared: not to be changed

	Opens      bool   // the response may name a new session
	Repeatable bool   // sending it twice does no harm, for example tools/list
	Handshake  bool   // it belongs to the handshake: nothing else is in progress
	Heard      func() // called when a part of the response arrives; may be nil

	// ErrorStatus is the HTTP status of a failed response whose body is a JSON-RPC error, otherwise
	// 0. The [Exchanger] sets it before it delivers that error.
	ErrorStatus int

	// In is the session that the message belongs to; nil: the session of [Exchanger.Session].
	In Session

	mu   sync.Mutex
	sent Session
}

// Method returns the method of a request or a notification, "" for an answer to the server.
func (m *Message) Method() string {
	parsed, _ := jsonrpc.Parse(m.Body) // a broken message, which a host may send, has none either
	return parsed.Method
}

// Session is the session in which the message was sent; nil before that, and if there is none.
func (m *Message) Session() Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sent
}

// SetSession is called by the [Exchanger], also while another goroutine asks.
func (m *Message) SetSession(s Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent = s
}

// ErrSessionEnded is the error of a message whose session has ended.
var ErrSessionEnded = errors.New("session has ended")

// OwnerError is the error of a message that was not sent: its token belongs to another user than the
// session, whose id is Session. A client begins a session for the user of the token.
type OwnerError struct{ Session string }

// Error does not show the id of the session, which may be a secret.
func (e *OwnerError) Error() string { return "the token is for another user than the session" }

// LostSessionError is the error of a message whose session the server does not know.
type LostSessionError interface {
	error

	// LostSession is the id of that session, "" for none.
	LostSession() string
}
