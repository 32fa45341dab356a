package tape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Record returns a transport that records the messages of a server.
func (t *Tape) Record(server string, to mcpclient.Transport) mcpclient.Transport {
	return &recordingTransport{t, server, to}
}

// Play returns a transport that plays the recorded messages of a server.
func (t *Tape) Play(server string) mcpclient.Transport { return &playingTransport{t, server} }

// nextConnection returns the number of another connection to a server, from 1.
func (t *Tape) nextConnection(server string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.connections[server]++
	return t.connections[server]
}

type recordingTransport struct {
	tape   *Tape
	server string
	to     mcpclient.Transport
}

// Dial implements [mcpclient.Transport].
func (r *recordingTransport) Dial(ctx context.Context) (transport.Conn, error) {
	conn, err := r.to.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return &recordingConn{
		Conn:   conn,
		tape:   r.tape,
		server: r.server,
		number: r.tape.nextConnection(r.server),
		pings:  map[string]bool{},
	}, nil
}

// recordingConn is a connection whose messages are recorded, except for pings, which depend on time. A message is recorded
// before it is sent, so that it precedes its answer on the tape. The end is recorded if the client has not closed the
// connection.
type recordingConn struct {
	transport.Conn
	tape   *Tape
	server string
	number int

	mu     sync.Mutex // guards the following fields
	pings  map[string]bool
	closed bool // by the client
}

// Unwrap lets the client find the connection's optional methods.
func (c *recordingConn) Unwrap() transport.Conn { return c.Conn }

// Send implements [transport.Conn].
func (c *recordingConn) Send(ctx context.Context, message []byte) error {
	if e := envelopeOf(message); e.Method == "ping" {
		c.mu.Lock()
		c.pings[string(e.ID)] = true
		c.mu.Unlock()
	} else if err := c.record(true, message); err != nil {
		return err
	}
	return c.Conn.Send(ctx, message)
}

// Recv implements [transport.Conn].
func (c *recordingConn) Recv() ([]byte, error) {
	message, err := c.Conn.Recv()
	if err != nil {
		return nil, c.recordEnd(err)
	}
	e := envelopeOf(message)
	c.mu.Lock()
	pong := e.Method == "" && c.pings[string(e.ID)]
	c.mu.Unlock()
	if pong {
		return message, nil
	}
	if err := c.record(false, message); err != nil {
		return nil, err
	}
	return message, nil
}

// record records a message, sent or received.
func (c *recordingConn) record(sent bool, message []byte) error {
	return c.tape.Keep(Line{Message: &Message{Server: c.server, Connection: c.number, Sent: sent, Body: message}})
}

// recordEnd records the error of Recv, and returns it, unless the connection continues or the client has closed it.
func (c *recordingConn) recordEnd(err error) error {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if _, continues := errors.AsType[*transport.MessageError](err); closed || continues {
		return err
	}
	if keepErr := c.tape.Keep(Line{Message: &Message{Server: c.server, Connection: c.number, End: err.Error()}}); keepErr != nil {
		return errors.Join(err, keepErr)
	}
	return err // itself: callers may compare it with io.EOF
}

// Close implements [transport.Conn].
func (c *recordingConn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return c.Conn.Close()
}

type playingTransport struct {
	tape   *Tape
	server string
}

// Dial implements [mcpclient.Transport].
func (p *playingTransport) Dial(context.Context) (transport.Conn, error) {
	c := &playingConn{
		tape:   p.tape,
		server: p.server,
		number: p.tape.nextConnection(p.server),
		ids:    map[string]json.RawMessage{},
	}
	c.changed.L = &p.tape.mu
	for i, l := range p.tape.lines {
		if m := l.Message; m != nil && m.Server == c.server && m.Connection == c.number {
			c.lines = append(c.lines, i)
		}
	}
	return c, nil
}

// playingConn is a connection to a recorded server. A message of the server is delivered when the
// client has sent all requests and answers that precede that message on the tape.
type playingConn struct {
	tape   *Tape // its lock guards the following fields
	server string
	number int

	lines   []int // lines of the tape for this connection
	changed sync.Cond
	next    int                        // the next line
	ids     map[string]json.RawMessage // ids of the client's requests: recorded id to present id
	pongs   [][]byte
	closed  bool
}

// Send implements [transport.Conn].
func (c *playingConn) Send(_ context.Context, message []byte) error {
	c.tape.mu.Lock()
	defer c.tape.mu.Unlock()
	defer c.changed.Broadcast()
	e := envelopeOf(message)
	switch {
	case e.Method == "ping":
		c.pongs = append(c.pongs, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, e.ID))
		return nil
	case e.Method != "" && e.ID == nil:
		return nil // a notification has no answer
	}
	asked := comparableRequest(c.tape.filter.JSON(message))
	var similar json.RawMessage
	for _, i := range c.lines {
		l := c.tape.lines[i].Message
		recorded := envelopeOf(l.Body)
		if !l.Sent || c.tape.played[i] || recorded.Method != e.Method {
			continue
		}
		if sent := comparableRequest(l.Body); !sameJSON(sent, asked) {
			similar = sent
			continue
		}
		if e.Method != "" { // the id of an answer belongs to the server
			c.ids[string(recorded.ID)] = e.ID
		}
		c.tape.played[i] = true
		return nil
	}
	return c.tape.missErrorLocked(fmt.Sprintf("server %q, connection %d, %s", c.server, c.number, e.Method), similar, asked)
}

// Recv implements [transport.Conn].
func (c *playingConn) Recv() ([]byte, error) {
	c.tape.mu.Lock()
	defer c.tape.mu.Unlock()
	for {
		if c.closed {
			return nil, io.EOF
		}
		if message, err := c.nextLocked(); message != nil || err != nil {
			return message, err
		}
		c.changed.Wait()
	}
}

// nextLocked returns the next message of the server, or the end of the connection. It returns nil if the client has to
// send something before that.
func (c *playingConn) nextLocked() ([]byte, error) {
	if len(c.pongs) > 0 {
		pong := c.pongs[0]
		c.pongs = c.pongs[1:]
		return pong, nil
	}
	for ; c.next < len(c.lines); c.next++ {
		i := c.lines[c.next]
		l := c.tape.lines[i].Message
		switch {
		case l.End == io.EOF.Error():
			return nil, io.EOF
		case l.End != "":
			return nil, errors.New(l.End)
		case !l.Sent:
			c.next++
			return c.translate(l.Body), nil
		case envelopeOf(l.Body).ID != nil && !c.tape.played[i]:
			return nil, nil
		}
	}
	return nil, nil
}

// translate replaces the recorded id of a request in a message of the server by its id in this connection: the message
// answers the request, or notifies about it.
func (c *playingConn) translate(message json.RawMessage) []byte {
	var m map[string]json.RawMessage
	if json.Unmarshal(message, &m) != nil {
		return message
	}
	params := decode(m["params"])
	switch {
	case m["method"] == nil:
		if id, ok := c.ids[string(m["id"])]; ok {
			m["id"] = id
		}
	case m["id"] == nil && params != nil: // a notification
		c.replace(params, "progressToken")
		if meta, ok := params["_meta"].(map[string]any); ok {
			c.replace(meta, "io.modelcontextprotocol/subscriptionId")
		}
		m["params"] = encode(params)
	}
	return encode(m)
}

// replace replaces a recorded id that is a member of an object.
func (c *playingConn) replace(object map[string]any, name string) {
	if id, ok := c.ids[fmt.Sprint(object[name])]; ok {
		object[name] = id
	}
}

// Close implements [transport.Conn].
func (c *playingConn) Close() error {
	c.tape.mu.Lock()
	defer c.tape.mu.Unlock()
	c.closed = true
	c.changed.Broadcast()
	return nil
}
