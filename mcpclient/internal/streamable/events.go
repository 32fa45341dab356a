package streamable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/sse"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// eventStream is the stream of one exchange, or the standalone stream, over the
// several connections that it may take (2025-11-25 transports, "Resumability").
type eventStream struct {
	conn    *conn
	header  http.Header
	session *session      // that the stream belongs to, also when another has begun; nil for none
	lastID  string        // of the last event that had one
	retry   time.Duration // what the server asks to wait before a reconnect
	after   time.Duration // what it asks to wait before the next one, by the status of the last
	opened  int           // connections so far
	since   time.Time     // when the last connection was opened
	failed  int           // attempts in a row that were refused, or ended at once and brought nothing
	polled  bool          // the first connection is taken up again as soon as the server allows
}

const (
	maxResumes     = 5               // failed attempts in a row
	livedTime      = 5 * time.Second // a connection that lasts as long has not failed
	resumeDelay    = time.Second
	maxResumeDelay = 30 * time.Second
)

// errLost marks a request whose response had begun and did not come to its end.
var errLost = errors.New("the answer to the request did not come")

// errEnded marks a connection of the standalone stream that ended: there is a next one.
var errEnded = errors.New("the event stream ended")

var errNoStream = errors.New("the response is not an event stream")

// exchange reads the response to a request until deliver is satisfied, and has x drain the rest. A
// legacy stream that ends before that, but after an event with an id, is taken up again where it
// ended, until maxResumes attempts in a row have brought nothing. The error begins with how the
// last connection ended.
func (s *eventStream) exchange(x *exchange, body io.ReadCloser, deliver func([]byte) bool) error {
	s.opened, s.failed, s.since, s.polled = 1, 1, time.Now(), true
	var lost error // of the last connection
	err := s.keep(x, body, func(body io.ReadCloser) error {
		lost = s.answered(x, body, deliver)
		return lost
	}, func(err error) error {
		switch {
		case err == lost && (s.lastID == "" || isModern(s.header) || errors.Is(err, transport.ErrMessageTooLarge) || x.Err() != nil):
			return err
		case err != lost && (permanent(err) || x.Err() != nil):
			return fmt.Errorf("%w; and the stream could not be resumed: %w", lost, err)
		case s.failed >= maxResumes:
			return fmt.Errorf("%w; and the stream could not be resumed: %d attempts brought nothing", lost, s.failed)
		}
		return nil
	})
	if _, ok := err.(*backoff.Interrupted); ok {
		return fmt.Errorf("%w; and the stream could not be resumed: %w", lost, bound.Ended(x))
	}
	return err
}

// answered reads one connection until deliver is satisfied. Otherwise the error says how
// the connection ended.
func (s *eventStream) answered(x *exchange, body io.ReadCloser, deliver func([]byte) bool) error {
	satisfied, atEnd, err := s.connection(body, deliver)
	if satisfied && !atEnd {
		x.drainOff(body)
		return nil
	}
	_ = body.Close()
	switch {
	case satisfied:
		return nil
	case err == nil:
		err = errEnded
	case errors.Is(err, transport.ErrMessageTooLarge):
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return &transport.BrokenError{Err: fmt.Errorf("%w: %w", errLost, err), Begun: true}
}

// keep calls read with the connections of the stream, first with body if there is one, until read
// succeeds or ctx ends. After a failure to open or to read one, final decides: keep returns its
// error, or opens the next connection after a wait if it is nil.
func (s *eventStream) keep(ctx context.Context, body io.ReadCloser, read func(io.ReadCloser) error, final func(error) error) error {
	return backoff.Loop(ctx, backoff.Policy{}, func() (err error) {
		if body == nil {
			if body, err = s.open(ctx); err != nil {
				return err
			}
		}
		defer func() { body = nil }()
		return read(body)
	}, func(f *backoff.Failure) error {
		if err := final(f.Err); err != nil {
			return err
		}
		if f.Wait = s.wait(); f.Wait == 0 {
			f.Wait = -1
		}
		return nil
	})
}

// connection reads one connection of the stream until deliver is satisfied.
func (s *eventStream) connection(body io.Reader, deliver func([]byte) bool) (satisfied, atEnd bool, err error) {
	r := sse.NewReader(body, s.conn.max)
	defer r.Release()
	if satisfied, err = s.read(r, deliver); !satisfied {
		s.ended()
	}
	return satisfied, r.AtEnd(), err
}

// read gives the messages of one connection to deliver until it is satisfied or the connection
// ends, and keeps what the next connection needs: the last id and the retry time. The error is nil
// at a regular end.
func (s *eventStream) read(r *sse.Reader, deliver func([]byte) bool) (satisfied bool, err error) {
	for {
		event, err := r.Next()
		if event.HasID && fitsHeader(event.ID) {
			s.lastID, s.failed = event.ID, 0
		}
		if event.HasRetry {
			s.retry = event.Retry
		}
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil && answers(r.Rest()) && deliver(r.Rest()):
			return true, nil
		case err != nil:
			return false, eventError(err)
		case len(event.Data) == 0 || event.Type != "message":
			continue // an event that only sets the id or the retry time, or one of another protocol
		}
		s.failed = 0
		if deliver(event.Data) {
			return true, nil
		}
	}
}

// answers reports whether data is a response, and not the beginning of one. Some
// servers end the stream without the blank line after it.
func answers(data []byte) bool {
	m, err := jsonrpc.Parse(data)
	return data != nil && err == nil && m.IsResponse()
}

// ended looks at how long the last connection lasted: one that a proxy cut, or
// a server that has its clients poll, is not a failure, also when it was silent.
func (s *eventStream) ended() {
	if time.Since(s.since) >= livedTime {
		s.failed = 0
	}
}

// maxEventID bounds the id of an event, in bytes.
const maxEventID = 1 << 10

// fitsHeader reports whether an event id can be sent back.
func fitsHeader(id string) bool {
	return len(id) <= maxEventID && strings.IndexFunc(id, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0
}

// eventError returns the error of a connection whose next event could not be read. It matches
// ErrMessageTooLarge if only this event is lost.
func eventError(err error) error {
	if large, ok := errors.AsType[*sse.TooLargeError](err); ok {
		return fmt.Errorf("%w: an event is over %d bytes, which HTTP.MaxMessage can raise", transport.ErrMessageTooLarge, large.Limit)
	}
	return fmt.Errorf("the event stream broke: %w", err)
}

// wait is how long to wait before the next connection. It differs among clients
// that lost their streams together.
func (s *eventStream) wait() time.Duration {
	if s.opened == 1 && s.failed == 0 && s.polled {
		return s.retry
	}
	return max(s.retry, backoff.Spread(s.after), backoff.Policy{First: resumeDelay, Max: maxResumeDelay}.Delay(s.failed))
}

// open opens the stream after the last event that was seen.
func (s *eventStream) open(ctx context.Context) (io.ReadCloser, error) {
	s.opened++
	s.failed++
	s.after = 0
	m := &message{sent: new(wire.Message), header: s.header, bound: true, session: s.session}
	if s.lastID != "" {
		m.header = maps.Clone(s.header)
		if m.header == nil {
			m.header = http.Header{}
		}
		m.header["Last-Event-Id"] = []string{s.lastID}
	}
	resp, err := s.conn.do(ctx, http.MethodGet, m)
	if err != nil {
		return nil, err
	}
	s.since = time.Now()
	if resp.StatusCode == http.StatusOK && mediaType(resp) == mediaStream {
		return resp.Body, nil
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode/100 != 2 {
		err := s.conn.statusError(resp)
		s.after = AskedWait(err)
		return nil, err
	}
	return nil, fmt.Errorf("%w: GET %s: HTTP status %d, content type %q", errNoStream, s.conn.safeURL(), resp.StatusCode, s.conn.safeContentType(resp))
}

// AskedWait returns the Retry-After of a temporary refusal of a stream, with the bound of a
// stream's retry time.
func AskedWait(err error) time.Duration {
	status, ok := errors.AsType[*transport.HTTPError](err)
	if !ok {
		return 0
	}
	return min(status.RetryAfter, sse.MaxRetry)
}

// permanent reports whether there is no use in connecting again.
func permanent(err error) bool {
	status, ok := errors.AsType[*transport.HTTPError](err)
	return ok && !wire.Transient(status.Status) || errors.Is(err, errNoStream)
}

// Listen implements [wire.Exchanger]. The stream is opened again whenever it ends, ever more slowly
// while it ends at once. Listen returns nil when ctx or the connection ends, and if the server has
// no such stream.
func (c *conn) Listen(ctx context.Context, sent *wire.Message, open func(resumed bool), deliver func([]byte)) error {
	m := newMessage(sent)
	c.join(m)
	defer m.leave()
	x := c.exchanges.begin(ctx, false, false)
	defer x.end()
	s := &eventStream{conn: c, header: m.header, session: m.session}
	wasOpen := false
	err := s.keep(x, nil, func(body io.ReadCloser) error {
		open(s.lastID != "")
		wasOpen = true
		s.listen(body, deliver)
		s.ended()
		return errEnded
	}, func(err error) error {
		if permanent(err) || x.Err() != nil {
			return err
		}
		return nil
	})
	status, ok := errors.AsType[*statusError](err)
	if x.Err() != nil || ok && status.noStream(wasOpen) {
		return nil
	}
	return err
}

// listen reads one connection of the standalone stream. An event over the bound
// is skipped, as no call waits for it.
func (s *eventStream) listen(body io.ReadCloser, deliver func([]byte)) {
	defer func() { _ = body.Close() }()
	r := sse.NewReader(body, s.conn.max)
	defer r.Release()
	for {
		_, err := s.read(r, func(data []byte) bool { deliver(data); return false })
		if !errors.Is(err, transport.ErrMessageTooLarge) {
			return
		}
	}
}
