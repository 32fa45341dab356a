package mcpclient

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// link is one dialed connection and the calls that wait on it.
type link struct {
	number    int64 // of the connections of a client, from 1
	conn      Conn
	transport Transport       // that conn is of
	exchange  wire.Exchanger  // conn, when every request has a response channel of its own
	headed    wire.HeaderConn // conn, when its messages have headers
	numbered  wire.Numberer   // conn, when it knows what it has not written
	calls     jsonrpc.Calls

	client linkClient
	life   *lifecycle.Lifecycle
	log    *slog.Logger
	async  *lifecycle.SendQueue
	asked  bool // the host answers what servers ask

	texts      redactor
	warnings   warnings
	followers  followers
	dispatcher dispatcher
	receiver   receiver

	mu   sync.Mutex
	err  error         // why the connection ended by itself
	gone chan struct{} // closed when it did; nil before somebody waits for it
}

// use gives the link its connection, and its parts what they need. retries bounds how often an
// answer to the server is sent.
func (l *link) use(conn Conn, handle handleFunc, slots lifecycle.Slots, retries int) {
	l.conn = conn
	l.exchange, _ = conn.(wire.Exchanger)
	l.headed, _ = conn.(wire.HeaderConn)
	l.numbered, _ = conn.(wire.Numberer)
	l.texts.conn = conn
	l.warnings.life, l.warnings.log = l.life, l.log
	d := &l.dispatcher
	d.link, d.calls, d.client, d.life, d.log, d.texts, d.warnings = l, &l.calls, l.client, l.life, l.log, &l.texts, &l.warnings
	d.handle, d.slots, d.retries = handle, slots, retries
	in := &l.receiver
	in.calls, in.client, in.log, in.texts, in.warnings = &l.calls, l.client, l.log, &l.texts, &l.warnings
	in.followers, in.dispatcher = &l.followers, d
	if skipper, ok := wire.As[wire.Skipper](conn); ok {
		skipper.OnSkip(func(line string) {
			l.warnings.tolerated("skipped a line that is not a JSON-RPC message", "text", l.texts.scrub(line))
		})
	}
}

// linkClient is what a connection needs of its client.
type linkClient interface {
	current() era
	isReady() bool

	// changed forgets what a change makes stale, and noticed passes a notification on to
	// its observers.
	changed(change mcp.Change)
	noticed(n *mcp.Notification)

	// lost is called once the connection has ended by itself, refused if it did not take a
	// message. Both return the error of a call; refused returns nil if it has not ended.
	lost(l *link, err error) error
	refused(l *link) error

	// sessionLost is called with the error of a message that has no caller. It reports whether the
	// server has forgotten the session of the message.
	sessionLost(err error) bool

	scrubbed(err error) error
}

// source is where a message of the server came from.
type source struct {
	call    *jsonrpc.Call // in whose response it came; nil elsewhere
	session wire.Session  // that it belongs to; nil if there is none
	quoted  bool          // it stands among other text, as in a log
}

// doubted adds to the error of a handshake over HTTP that there may be no server.
func (l *link) doubted(err error) error {
	if l.exchange == nil {
		return err
	}
	return doubtful(err)
}

// doubtful adds to an error that something answers at the URL, but in no words of
// the protocol, or that it has nothing there, if that is so: a web site or another
// API.
func doubtful(err error) error {
	status, refused := errors.AsType[*transport.HTTPError](err)
	rpc, answered := errors.AsType[*mcp.RPCError](err)
	if !errors.Is(err, mcp.ErrInvalidResult) && !(refused && nothingThere(status.Status)) && !(answered && rpc.Code == 0) {
		return err
	}
	return fmt.Errorf("%w (is this the URL of an MCP server?)", err)
}

// nothingThere reports whether a server of something else may say so of a handshake.
func nothingThere(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// kill makes the end of the connection take no more time.
func (l *link) kill() {
	if conn, ok := wire.As[wire.Killer](l.conn); ok {
		conn.Kill()
	}
}

// explain adds to the error of a server that gave no answer what the connection
// knows of it.
func (l *link) explain(err error) error {
	if l == nil {
		return err
	}
	if conn, ok := wire.As[wire.Explainer](l.conn); ok {
		return conn.Explain(err)
	}
	return err
}

// dead says why the connection ended by itself, nil while it has not.
func (l *link) dead() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		return nil
	}
	return closedBy(l.err)
}

// endCalls fails the calls that wait on the connection, and every later one. What
// is told the server still goes out.
func (l *link) endCalls() {
	l.calls.Close(ErrClosed)
	if l.exchange != nil {
		l.exchange.EndCalls()
	}
}

// end closes the connection, fails the calls that wait on it, and gives up what
// is being answered.
func (l *link) end() error {
	l.calls.Close(ErrClosed)
	err := l.conn.Close()
	l.dispatcher.abandon(nil)
	return err
}

// read gives every message of the connection to the client until it ends.
func (l *link) read() {
	for {
		data, err := l.conn.Recv()
		if err == nil {
			l.receiver.receive(data, source{})
			continue
		}
		bad, ok := errors.AsType[*transport.MessageError](err)
		if !ok {
			l.died(err)
			return
		}
		l.receiver.unreadable(bad)
	}
}

// errHungUp is why a connection ended that its server closed.
var errHungUp = errors.New("the server closed the connection")

// hungUp is why a connection ended, in words for the regular end that its server made.
func hungUp(err error) error {
	if errors.Is(err, io.EOF) {
		return errHungUp
	}
	return err
}

// died records that the connection ended by itself, and fails its calls.
func (l *link) died(err error) {
	err = hungUp(err)
	l.mu.Lock()
	if l.err == nil {
		l.err = err
		if l.gone != nil {
			close(l.gone)
		}
	}
	l.mu.Unlock()
	l.calls.Close(l.client.lost(l, err))
}

// over is closed when the connection has ended by itself.
func (l *link) over() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone == nil {
		l.gone = make(chan struct{})
		if l.err != nil {
			close(l.gone)
		}
	}
	return l.gone
}

// closedBy is the error of a connection that ended for the reason err.
func closedBy(err error) error {
	if errors.Is(err, ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrClosed, err)
}
