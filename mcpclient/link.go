package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// link is one dialed connection, with the calls that wait on it and the requests of the server that are being answered.
type link struct {
	number    int64 // counts the connections of a client from 1
	conn      transport.Conn
	transport Transport      // which has dialed conn
	exchange  wire.Exchanger // conn, if every request has a response channel of its own
	numbered  wire.Numberer  // conn, if it knows what it has not written
	calls     jsonrpc.Calls

	client linkClient
	life   *lifecycle.Lifecycle
	log    *slog.Logger
	async  *lifecycle.Queue

	observed bool // something reads what the server sends of its own accord

	texts      redactor
	warnings   warnings
	followers  sync.Map // by the ids of calls that became tasks: the *follower of each
	dispatcher dispatcher

	mu    sync.Mutex
	err   error         // why the connection has ended by itself
	ended chan struct{} // closed when the connection has ended by itself
}

func (c *connector) newLink(t Transport, conn transport.Conn) *link {
	l := &link{
		number:    c.connections.Add(1),
		conn:      conn,
		transport: t,
		client:    c,
		life:      c.life,
		log:       c.log,
		async:     c.async,
		observed:  c.observesServer(),
		texts:     redactor{conn},
		warnings:  warnings{life: c.life, log: c.log},
		ended:     make(chan struct{}),
	}
	l.exchange, _ = conn.(wire.Exchanger)
	l.numbered, _ = conn.(wire.Numberer)
	l.dispatcher = dispatcher{link: l, handle: c.handle, slots: c.slots, retries: c.limits.Retries}
	if skipper, ok := wire.As[wire.Skipper](conn); ok {
		skipper.OnSkip(func(line string) {
			l.warnings.logViolation("skipped a line that is not a JSON-RPC message", "text", l.texts.scrub(line))
		})
	}
	return l
}

// linkClient is the part of a client that a link needs.
type linkClient interface {
	current() era
	isReady() bool

	invalidate(change mcp.Change)

	onNotification(n *mcp.Notification)

	// onLinkEnd is called when the connection has ended by itself. It returns the error of calls.
	onLinkEnd(l *link, err error) error

	// onSendError is called when the connection did not accept a message. It returns the error of
	// a call, nil if the connection has not ended.
	onSendError(l *link) error

	// onMessageError is called with the error of a message without a caller. It reports whether
	// the server has forgotten the message's session.
	onMessageError(err error) bool

	scrubError(err error) error
}

// source is where a message of the server came from.
type source struct {
	call    *jsonrpc.Call // the call in whose response it came, or nil
	session wire.Session  // the session that it belongs to, or nil
}

// values returns the context whose values an answer to the message is sent with: that of the call. nil: that of Connect.
func (s source) values() context.Context {
	if s.call == nil {
		return nil
	}
	return s.call.Value.(*inFlight).ctx
}

// read receives until the connection ends.
func (l *link) read() {
	for {
		data, err := l.conn.Recv()
		if err == nil {
			l.receive(data, source{})
			continue
		}
		bad, ok := errors.AsType[*transport.MessageError](err)
		if !ok {
			l.onEnd(err)
			return
		}
		l.onUnreadable(bad)
	}
}

var errHungUp = errors.New("server closed the connection")

// endReason returns why a connection ended. It replaces the plain end of input by errHungUp.
func endReason(err error) error {
	if errors.Is(err, io.EOF) {
		return errHungUp
	}
	return err
}

// onEnd records that the connection ended by itself, because of err, and fails its calls. The first error counts.
func (l *link) onEnd(err error) {
	err = endReason(err)
	l.mu.Lock()
	if l.err == nil {
		l.err = err
		close(l.ended)
	}
	l.mu.Unlock()
	l.calls.Close(l.client.onLinkEnd(l, err))
}

// closedError returns the error of calls on a connection that ended because of err: it matches ErrClosed.
func closedError(err error) error {
	if errors.Is(err, ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrClosed, err)
}

// endErr returns why the connection ended by itself, nil if it has not.
func (l *link) endErr() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		return nil
	}
	return closedError(l.err)
}

// endCalls fails the calls that wait on the connection, and every later one. Messages to the server are still sent.
func (l *link) endCalls() {
	l.calls.Close(ErrClosed)
	if l.exchange != nil {
		l.exchange.EndCalls()
	}
}

// failCalls fails the calls that wait on the connection, and every later one, and cancels the
// handling of the server's requests.
func (l *link) failCalls(err error) {
	l.calls.Close(err)
	l.dispatcher.abandon(nil)
}

func (l *link) close() error {
	l.calls.Close(ErrClosed)
	err := l.conn.Close()
	l.dispatcher.abandon(nil)
	return err
}

func (l *link) kill() {
	if conn, ok := wire.As[wire.Killer](l.conn); ok {
		conn.Kill()
	}
}

// explain adds to the error of an unresponsive server what the connection knows about the server.
// l is nil before the first connection.
func (l *link) explain(err error) error {
	if l == nil {
		return err
	}
	if conn, ok := wire.As[wire.Explainer](l.conn); ok {
		return conn.Explain(err)
	}
	return err
}

// isBusy reports whether calls, except for subscriptions, or requests of the server are in progress.
func (l *link) isBusy() bool {
	for _, call := range l.calls.Pending() {
		if call.Value.(*inFlight).listening == nil {
			return true
		}
	}
	return l.dispatcher.isBusy()
}

// sessionRef is a connection, and over HTTP a session on it.
type sessionRef struct {
	connection int64        // starts at 1; 0 for none
	session    wire.Session // nil for none
}

func (l *link) sessionID() string {
	if s := l.nextSession().session; s != nil && !s.Ended() {
		return s.ID()
	}
	return ""
}

func (l *link) nextSession() sessionRef {
	if l.exchange == nil {
		return sessionRef{connection: l.number}
	}
	return sessionRef{l.number, l.exchange.Session()}
}

// loseSession marks the session over HTTP as ended, and cancels the handlers for it. restore
// removes the mark, unless another has begun by then.
func (l *link) loseSession() (restore func()) {
	lost := l.exchange.Session()
	if lost != nil {
		lost.SetEnded(true)
	}
	l.dispatcher.abandon(lost)
	return func() {
		if lost != nil && l.exchange.Session() == lost {
			lost.SetEnded(false)
		}
	}
}

// errLostCursor is the error of a request whose cursor the server has forgotten: "clients MUST
// NOT persist cursors across sessions". Without sessions cursors outlive the connection.
var errLostCursor = fmt.Errorf("%w: its cursor belongs to the previous session: list again from the first page", ErrSessionLost)
