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
	conn        *conn
	header      http.Header
	session     *session      // the stream belongs to it, even after another has begun; nil for none
	lastID      string        // the id of the last event that had one
	retry       time.Duration // the wait that the server's events ask for
	retryAfter  time.Duration // the wait that the last refusal asks for
	connections int           // connections so far
	openedAt    time.Time     // when the last connection was opened
	failures    int           // consecutive attempts that were refused, or soon ended and brought nothing
	polling     bool          // the first connection is resumed as soon as the server allows

	token   transport.Token  // the token of the last attempt
	refused *transport.Token // the last one that the server refused, or nil
}

const (
	maxResumes     = 5               // bounds failures
	lastingTime    = 5 * time.Second // a connection that has lasted as long has not failed
	resumeDelay    = time.Second
	maxResumeDelay = 30 * time.Second
)

// errLost marks a request whose response began and did not arrive completely.
var errLost = errors.New("answer to the request did not come")

var errNoStream = errors.New("response is not an event stream")

// exchange reads the response to a request until deliver is satisfied; x drains the rest. A legacy stream that ends before
// that, but after an event with an id, is resumed where it ended. The error begins with how the last connection ended.
func (s *eventStream) exchange(x *exchange, body io.ReadCloser, deliver func([]byte) bool) error {
	s.connections, s.failures, s.openedAt, s.polling = 1, 1, time.Now(), true
	for {
		lost := s.readAnswer(x, body, deliver)
		if lost == nil || x.Err() != nil || !s.isResumable(lost) {
			return lost
		}
		var err error
		if body, err = s.resume(x); err != nil {
			return fmt.Errorf("%w; and the stream could not be resumed: %w", lost, err)
		}
	}
}

// resume opens the next connection of a response after a wait. It tries again until maxResumes
// consecutive attempts have brought nothing.
func (s *eventStream) resume(ctx context.Context) (io.ReadCloser, error) {
	for {
		if s.failures >= maxResumes {
			return nil, fmt.Errorf("%d attempts brought nothing", s.failures)
		}
		if backoff.Sleep(ctx, s.delay()) != nil {
			return nil, bound.Ended(ctx)
		}
		body, err := s.open(ctx)
		if err == nil || isPermanent(err) || ctx.Err() != nil {
			return body, err
		}
	}
}

// isResumable reports whether a stream that ended with err can be resumed: in the legacy era after
// an event with an id. A message that is too large would come again.
func (s *eventStream) isResumable(err error) bool {
	return s.lastID != "" && !isModern(s.header) && !errors.Is(err, transport.ErrMessageTooLarge)
}

// readAnswer reads one connection until deliver is satisfied. Otherwise the error says how the connection ended.
func (s *eventStream) readAnswer(x *exchange, body io.ReadCloser, deliver func([]byte) bool) error {
	r := sse.NewReader(body, s.conn.max)
	defer r.Release()
	satisfied, err := s.readEvents(r, deliver)
	if satisfied && !r.AtEnd() {
		x.drainBody(body)
		return nil
	}
	_ = body.Close()
	if satisfied {
		return nil
	}
	s.resetIfLasted()
	switch {
	case err == nil:
		err = errors.New("event stream ended")
	case errors.Is(err, transport.ErrMessageTooLarge):
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return &transport.BrokenError{Err: fmt.Errorf("%w: %w", errLost, err), ResponseBegun: true}
}

// readEvents gives the messages of one connection to deliver until it is satisfied or the connection ends. It records the
// last id and the retry time for the next connection. The error is nil at a regular end.
func (s *eventStream) readEvents(r *sse.Reader, deliver func([]byte) bool) (satisfied bool, err error) {
	for {
		event, err := r.Next()
		if event.HasID && fitsHeader(event.ID) {
			s.lastID, s.failures = event.ID, 0
		}
		if event.HasRetry {
			s.retry = event.Retry
		}
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil && isResponse(r.Rest()) && deliver(r.Rest()):
			return true, nil
		case err != nil:
			return false, eventError(err)
		case len(event.Data) == 0 || event.Type != "message":
			continue // an event that only sets the id or the retry time, or one of another protocol
		}
		s.failures = 0
		if deliver(event.Data) {
			return true, nil
		}
	}
}

// isResponse reports whether data is a complete response. Some servers end the stream without the blank line after it.
func isResponse(data []byte) bool {
	m, err := jsonrpc.Parse(data)
	return data != nil && err == nil && m.IsResponse()
}

// resetIfLasted sets failures to 0 if the last connection has lasted: one that a proxy cut, or a
// server whose clients should poll, has not failed, even if it was silent.
func (s *eventStream) resetIfLasted() {
	if time.Since(s.openedAt) >= lastingTime {
		s.failures = 0
	}
}

const maxEventID = 1 << 10

func fitsHeader(id string) bool {
	return len(id) <= maxEventID && strings.IndexFunc(id, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0
}

// eventError returns the error of a connection whose next event could not be read. It matches
// ErrMessageTooLarge if only this event is lost.
func eventError(err error) error {
	if large, ok := errors.AsType[*sse.TooLargeError](err); ok {
		return fmt.Errorf("%w: an event is over %d bytes, which HTTP.MaxMessage can raise", transport.ErrMessageTooLarge, large.Limit)
	}
	return fmt.Errorf("event stream broke: %w", err)
}

// delay returns the wait before the next connection. It differs among clients that lost their streams together.
func (s *eventStream) delay() time.Duration {
	if s.connections == 1 && s.failures == 0 && s.polling {
		return s.retry
	}
	return max(s.retry, backoff.Spread(s.retryAfter), backoff.Policy{First: resumeDelay, Max: maxResumeDelay}.Delay(s.failures))
}

func (s *eventStream) open(ctx context.Context) (io.ReadCloser, error) {
	s.connections++
	s.failures++
	s.retryAfter = 0
	m := &message{sent: new(wire.Message), header: s.header, bound: true, session: s.session}
	m.sourceKnows = s.refused != nil && !s.hasOtherToken(ctx)
	if s.lastID != "" {
		m.header = maps.Clone(s.header)
		if m.header == nil {
			m.header = http.Header{}
		}
		m.header["Last-Event-Id"] = []string{s.lastID}
	}
	resp, err := s.conn.do(ctx, http.MethodGet, m)
	s.token = m.token
	if err != nil {
		return nil, err
	}
	s.openedAt = time.Now()
	if resp.StatusCode == http.StatusOK && mediaType(resp) == mediaStream {
		return resp.Body, nil
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode/100 != 2 {
		err := s.conn.statusError(resp)
		s.retryAfter = RetryAfter(err)
		return nil, err
	}
	return nil, fmt.Errorf("%w: GET %s: HTTP status %d, content type %q",
		errNoStream, s.conn.safeURL(), resp.StatusCode, s.conn.safeContentType(resp))
}

// hasOtherToken reports whether the source has another token now than the refused one, and for the same user in a session.
func (s *eventStream) hasOtherToken(ctx context.Context) bool {
	t, err := s.conn.requestToken(ctx, nil)
	return err == nil && t != *s.refused && (s.session == nil || t.Owner == s.refused.Owner)
}

// RetryAfter returns the Retry-After of a temporary refusal of a stream, with the bound of a stream's retry time.
func RetryAfter(err error) time.Duration {
	status, ok := errors.AsType[*transport.HTTPError](err)
	if !ok {
		return 0
	}
	return min(status.RetryAfter, sse.MaxRetry)
}

func isPermanent(err error) bool {
	status, ok := errors.AsType[*transport.HTTPError](err)
	return ok && !backoff.IsTransient(status.Status) || errors.Is(err, errNoStream)
}
