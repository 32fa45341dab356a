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
)

// Conn is the server's end of a connection that carries whole messages.
type Conn interface {
	Send(ctx context.Context, message []byte) error
	Recv() ([]byte, error)
	Close() error
}

// arrival is an event from the client: a message, the end of a connection, or an HTTP request.
type arrival struct {
	body []byte
	conn Conn  // nil over HTTP
	err  error // why the connection ended

	// Only over HTTP.
	id      string        // of the JSON-RPC request
	frames  chan []byte   // messages of the response; closed after the last
	gone    chan struct{} // closed when the handler has returned
	request *http.Request // in a conversation about HTTP itself
	actions chan action
}

var (
	errEarly  = errors.New("the test ended before this section")
	errClosed = errors.New("the client closed the connection before this section")
)

// Serve plays to one connection. If the script wants the client to dial again,
// it continues with the connection of the next call of Serve.
func (s *Script) Serve(c Conn) {
	s.running.Go(func() {
		select {
		case s.dials <- c:
		case <-s.stop:
			return
		}
		for {
			m, err := c.Recv()
			if !s.arrive(&arrival{body: m, conn: c, err: err}) || err != nil {
				return
			}
		}
	})
}

// arrive passes an event to the player.
func (s *Script) arrive(a *arrival) bool {
	select {
	case s.arrivals <- a:
		return true
	case <-s.stop:
		return false
	}
}

// dialed waits for the next connection.
func (s *Script) dialed() error {
	for {
		select {
		case s.conn = <-s.dials:
			return nil
		case a := <-s.arrivals:
			if a.err == nil {
				return fmt.Errorf("the client sent %s", a.body)
			}
		case <-s.stop:
			return errEarly
		case <-time.After(patience):
			return errors.New("the client did not dial")
		}
	}
}

// next waits for an event that the section expects.
func (s *Script) next(wanted func(*arrival) bool) (*arrival, error) {
	if i := slices.IndexFunc(s.pending, wanted); i >= 0 {
		a := s.pending[i]
		s.pending = slices.Delete(s.pending, i, i+1)
		return a, nil
	}
	silence := time.NewTimer(patience)
	defer silence.Stop()
	for {
		select {
		case c := <-s.dials:
			if s.conn != nil {
				return nil, errors.New("the client dialed again")
			}
			s.conn = c
		case a := <-s.arrivals:
			switch {
			case a.err != nil && a.conn != s.conn:
				continue // the end of an earlier connection
			case a.err != nil:
				return nil, errClosed
			case wanted(a):
				return a, nil
			}
			s.pending = append(s.pending, a)
		case <-s.stop:
			return nil, errEarly
		case <-silence.C:
			return nil, errors.New("the client sent nothing")
		}
	}
}

// rest reports messages after the end of the script.
func (s *Script) rest() {
	for _, a := range s.pending {
		s.unexpected(a)
	}
	for {
		select {
		case a := <-s.arrivals:
			if a.err == nil {
				s.unexpected(a)
			}
		case <-s.stop:
			return
		}
	}
}

func (s *Script) unexpected(a *arrival) {
	what := string(a.body)
	if a.request != nil {
		what = describe(a.request, a.body)
	}
	s.t.Errorf("%s: the client sent more than the script has:\n%s", s.path, what)
}

// abandon leaves the client without a server.
func (s *Script) abandon() {
	if s.conn != nil {
		_ = s.conn.Close()
	}
	for {
		select {
		case c := <-s.dials:
			_ = c.Close()
		case <-s.arrivals:
		case <-s.stop:
			return
		}
	}
}

// send brings a message to the client. Over HTTP a response goes into its
// exchange and ends it, and everything else into the newest.
func (s *Script) send(message []byte) error {
	if s.conn != nil {
		return s.conn.Send(context.Background(), message)
	}
	var e envelope
	answer := json.Unmarshal(message, &e) == nil && e.Method == ""
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, a := range slices.Backward(s.open) {
		if answer && a.id != string(e.ID) {
			continue
		}
		a.frames <- message
		if answer {
			close(a.frames)
			s.open = slices.Delete(s.open, i, i+1)
		}
		return nil
	}
	if answer {
		return nil // the client cancelled the request
	}
	return errors.New("no HTTP request is under way to send this in")
}

// ServeHTTP plays to HTTP requests.
func (s *Script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if s.aboutHTTP() {
		s.serveExchange(w, r, body)
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
	a := &arrival{body: body, id: string(e.ID)}
	if !e.isRequest() {
		s.arrive(a)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	a.frames = make(chan []byte, 1024)
	s.mu.Lock()
	s.open = append(s.open, a)
	s.mu.Unlock()
	defer s.forget(a)
	if s.arrive(a) {
		s.respond(w, r, a)
	}
}

func (s *Script) forget(a *arrival) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, func(o *arrival) bool { return o == a })
}

// respond writes the response of one request, as JSON if it is one message.
func (s *Script) respond(w http.ResponseWriter, r *http.Request, a *arrival) {
	streaming := false
	for {
		var frame []byte
		var more bool
		select {
		case frame, more = <-a.frames:
		case <-r.Context().Done():
			return
		case <-s.stop:
			return
		}
		switch {
		case !more:
			return
		case streaming:
		case s.Stream || !isAnswer(frame):
			streaming = true
			w.Header().Set("Content-Type", "text/event-stream")
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(frame)
			return
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", frame)
		w.(http.Flusher).Flush()
	}
}

func isAnswer(message []byte) bool {
	var e envelope
	return json.Unmarshal(message, &e) == nil && e.Method == ""
}
