package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/pipe"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// arrival is an event from the client: a connection, its end, a message or an HTTP request.
type arrival struct {
	conn   transport.Conn // the server's end, nil over HTTP
	dialed bool           // the connection has begun
	err    error          // why it has ended
	body   []byte

	// Only over HTTP.
	request *http.Request
	actions chan action
	gone    chan struct{} // closed when the handler has returned
	id      string        // the JSON-RPC request's id
	begun   bool          // the response has a head
}

var errEarly = errors.New("the test ended before this section")

// Dial implements [transport.Transport]. If the script wants the client to dial again, it continues
// with the connection of the next Dial.
func (s *Script) Dial(ctx context.Context) (transport.Conn, error) {
	client, server := pipe.New()
	conn, err := client.Dial(ctx)
	s.serve(server)
	return conn, err
}

func (s *Script) serve(c transport.Conn) {
	s.running.Go(func() {
		open := s.arrive(&arrival{conn: c, dialed: true})
		for open {
			m, err := c.Recv()
			open = s.arrive(&arrival{body: m, conn: c, err: err}) && err == nil
		}
	})
}

// arrive passes an event to the player. It returns false at the end of the test.
func (s *Script) arrive(a *arrival) bool {
	select {
	case s.arrivals <- a:
		return true
	case <-s.stop:
		return false
	}
}

func (s *Script) awaitDial() error {
	s.conn = nil
	a, err := s.next(func(a *arrival) bool { return a.dialed })
	if err != nil {
		return err
	}
	s.conn = a.conn
	return nil
}

// next waits for an event that the section expects. Requests that a later section may expect wait.
func (s *Script) next(wanted func(*arrival) bool) (*arrival, error) {
	if i := slices.IndexFunc(s.pending, wanted); i >= 0 {
		a := s.pending[i]
		s.pending = slices.Delete(s.pending, i, i+1)
		return a, nil
	}
	silence := time.NewTimer(patience)
	defer silence.Stop()
	for {
		var a *arrival
		select {
		case a = <-s.arrivals:
		case <-s.stop:
			return nil, errEarly
		case <-silence.C:
			return nil, errors.New("the client sent nothing")
		}
		switch {
		case a.err != nil && a.conn != s.conn: // the end of an earlier connection
		case a.err != nil:
			return nil, errors.New("the client closed the connection before this section")
		case wanted(a):
			return a, nil
		case a.dialed && s.conn == nil:
			s.conn = a.conn
		case a.dialed:
			return nil, errors.New("the client dialed again")
		case a.conn != s.conn:
			return nil, fmt.Errorf("the client sent %s on an earlier connection", a.body)
		default:
			s.pending = append(s.pending, a)
		}
	}
}

// drain takes what arrives until the end of the test. It reports messages, or closes connections after a failure.
func (s *Script) drain(failed bool) {
	for {
		select {
		case a := <-s.arrivals:
			switch {
			case failed && a.dialed:
				_ = a.conn.Close()
			case !failed && a.err == nil:
				s.unexpected(a)
			}
		case <-s.stop:
			return
		}
	}
}

func (s *Script) unexpected(a *arrival) {
	what := string(a.body)
	if s.isHTTP() {
		what = describe(a.request, a.body)
	}
	s.t.Errorf("%s: the client sent more than the script has:\n%s", s.path, what)
}

// send brings a message to the client. Over HTTP a response goes into its exchange and ends it, and
// everything else into the newest exchange.
func (s *Script) send(message []byte) error {
	if s.conn != nil {
		return s.conn.Send(context.Background(), message)
	}
	var e envelope
	answer := json.Unmarshal(message, &e) == nil && e.Method == ""
	for i, a := range slices.Backward(s.open) {
		if answer && a.id != string(e.ID) {
			continue
		}
		if answer {
			s.open = slices.Delete(s.open, i, i+1)
		}
		if a.act(s.frame(a, message, answer)) == nil {
			return nil
		}
	}
	if answer {
		return nil // the client cancelled the request
	}
	return errors.New("no HTTP request is under way to send this in")
}

// frame returns the part of a response that carries a message: an event, or JSON if the response is only the answer.
func (s *Script) frame(a *arrival, message []byte, last bool) action {
	act := action{body: message, end: last}
	media := "application/json"
	if s.Stream || a.begun || !last {
		media = "text/event-stream"
		act.body = fmt.Appendf(nil, "data: %s\n\n", message)
	}
	if !a.begun {
		act.status, act.header = http.StatusOK, http.Header{"Content-Type": {media}}
	}
	a.begun = true
	return act
}

// ServeHTTP plays to HTTP requests. In a conversation of messages it answers by itself what is not a JSON-RPC request.
func (s *Script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	a := &arrival{body: body, request: r, actions: make(chan action), gone: make(chan struct{})}
	defer close(a.gone)
	if s.isHTTP() {
		s.respond(w, a)
		return
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		s.t.Errorf("%s: the client posted %q: %v", s.path, body, err)
	}
	if !e.isRequest() {
		s.arrive(a)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	a.id = string(e.ID)
	s.respond(w, a)
}
