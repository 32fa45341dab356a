package tape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// dialer is a transport that is a function.
type dialer func(context.Context) (transport.Conn, error)

func (d dialer) Dial(ctx context.Context) (transport.Conn, error) { return d(ctx) }

// nextConnection returns the number of another connection to a server, from 1.
func (t *Tape) nextConnection(server string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.connections[server]++
	return t.connections[server]
}

// Record returns a transport that records the messages of a server.
func (t *Tape) Record(server string, to mcpclient.Transport) mcpclient.Transport {
	return dialer(func(ctx context.Context) (transport.Conn, error) {
		conn, err := to.Dial(ctx)
		if err != nil {
			return nil, err
		}
		return &recordingConn{Conn: conn, tape: t, server: server, number: t.nextConnection(server)}, nil
	})
}

// recordingConn is a connection whose messages are recorded. A message is recorded before it is sent, so that it precedes
// its answer on the tape. The end is recorded if the client has not closed the connection.
type recordingConn struct {
	transport.Conn
	tape   *Tape
	server string
	number int
	closed atomic.Bool // by the client
}

// Unwrap lets the client find the connection's optional methods.
func (c *recordingConn) Unwrap() transport.Conn { return c.Conn }

func (c *recordingConn) Send(ctx context.Context, message []byte) error {
	if err := c.record(&Message{Sent: true, Body: message}); err != nil {
		return err
	}
	return c.Conn.Send(ctx, message)
}

func (c *recordingConn) Recv() ([]byte, error) {
	message, err := c.Conn.Recv()
	_, continues := errors.AsType[*transport.MessageError](err)
	switch {
	case err == nil:
		err = c.record(&Message{Body: message})
	case !continues && !c.closed.Load():
		if recordErr := c.record(&Message{End: err.Error()}); recordErr != nil {
			err = errors.Join(err, recordErr) // otherwise err itself: callers may compare it with io.EOF
		}
	}
	if err != nil {
		return nil, err
	}
	return message, nil
}

func (c *recordingConn) record(m *Message) error {
	m.Server, m.Connection = c.server, c.number
	return c.tape.Keep(Line{Message: m})
}

func (c *recordingConn) Close() error {
	c.closed.Store(true)
	return c.Conn.Close()
}

// Play returns a transport that plays the recorded messages of a server.
func (t *Tape) Play(server string) mcpclient.Transport {
	return dialer(func(context.Context) (transport.Conn, error) {
		number := t.nextConnection(server)
		c := &playingConn{tape: t, name: fmt.Sprintf("server %q, connection %d", server, number), ids: map[string]json.RawMessage{}}
		c.changed.L = &t.mu
		pings := map[string]bool{} // by their ids
		for _, l := range t.lines {
			m := l.Message
			if m == nil || m.Server != server || m.Connection != number {
				continue
			}
			e := envelopeOf(m.Body)
			if m.Sent && e.Method == "ping" {
				pings[string(e.ID)] = true
			} else if m.Sent || e.Method != "" || !pings[string(e.ID)] {
				c.lines = append(c.lines, l)
			}
		}
		return c, nil
	})
}

// playingConn is a connection to a recorded server. A message of the server is delivered when the client has sent all
// requests and answers that precede that message on the tape. Pings, which depend on time, are answered.
type playingConn struct {
	name string
	tape *Tape // its lock guards the following fields

	lines   []*Line // lines of the tape for this connection, without pings
	changed sync.Cond
	next    int                        // the next line
	ids     map[string]json.RawMessage // ids of the client's requests: recorded id to present id
	pongs   [][]byte
	closed  bool
}

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
	for _, l := range c.lines {
		recorded := envelopeOf(l.Message.Body)
		if !l.Message.Sent || l.played || recorded.Method != e.Method {
			continue
		}
		if sent := comparableRequest(l.Message.Body); !sameJSON(sent, asked) {
			similar = sent
			continue
		}
		if e.Method != "" { // the id of an answer belongs to the server
			c.ids[string(recorded.ID)] = e.ID
		}
		l.played = true
		return nil
	}
	return c.tape.missErrorLocked(c.name+", "+e.Method, similar, asked)
}

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
		l := c.lines[c.next]
		switch m := l.Message; {
		case m.End == io.EOF.Error():
			return nil, io.EOF
		case m.End != "":
			return nil, errors.New(m.End)
		case !m.Sent:
			c.next++
			return c.translate(m.Body), nil
		case envelopeOf(m.Body).ID != nil && !l.played:
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

func (c *playingConn) Close() error {
	c.tape.mu.Lock()
	defer c.tape.mu.Unlock()
	c.closed = true
	c.changed.Broadcast()
	return nil
}
