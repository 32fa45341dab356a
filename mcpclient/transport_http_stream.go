package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/mcpchain/mcpchain/internal/sse"
)

// eventStream is the stream of one exchange, or the standalone stream, over the
// several connections that it may take (2025-11-25 transports, "Resumability").
type eventStream struct {
	conn   *httpConn
	header http.Header
	lastID string        // of the last event that had one
	retry  time.Duration // what the server asks to wait before a reconnect
}

const (
	maxResumes     = 5
	resumeDelay    = time.Second
	maxResumeDelay = 30 * time.Second
)

// exchange reads the response to a request until deliver is satisfied. A stream
// that breaks after an event with an id is taken up again where it broke.
func (s *eventStream) exchange(ctx context.Context, body io.Reader, deliver func([]byte) bool) error {
	for attempt := 0; ; attempt++ {
		satisfied, err := s.read(body, deliver)
		if satisfied {
			return nil
		}
		if err == nil {
			err = errors.New("the event stream ended")
		}
		err = fmt.Errorf("the answer to the request did not come: %w", err)
		if s.lastID == "" || s.modern() || attempt == maxResumes || ctx.Err() != nil {
			return err
		}
		resp, resumeErr := s.resume(ctx, attempt)
		if resumeErr != nil {
			return fmt.Errorf("%w; and the stream could not be resumed: %w", err, resumeErr)
		}
		defer func() { _ = resp.Body.Close() }()
		body = resp.Body
	}
}

// modern reports whether the request was one of the modern era, whose streams
// cannot be resumed.
func (s *eventStream) modern() bool { return s.header["Mcp-Method"] != nil }

// read gives the messages of one connection to deliver until it ends.
func (s *eventStream) read(body io.Reader, deliver func([]byte) bool) (satisfied bool, err error) {
	r := sse.NewReader(body, s.conn.max)
	for {
		event, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return satisfied, nil
		case err != nil:
			return satisfied, eventError(err)
		}
		if event.HasID {
			s.lastID = event.ID
		}
		if event.HasRetry {
			s.retry = event.Retry
		}
		if len(event.Data) == 0 || event.Type != "message" {
			continue // an event that only sets the id or the retry time, or one of another protocol
		}
		if deliver(event.Data) {
			return true, nil
		}
	}
}

func eventError(err error) error {
	var large *sse.TooLargeError
	if errors.As(err, &large) {
		return fmt.Errorf("%w: an event is over %d bytes (HTTP.MaxMessage)", ErrMessageTooLarge, large.Limit)
	}
	return fmt.Errorf("the event stream broke: %w", err)
}

// resume opens the stream again after the last event that was seen, having
// waited as long as the server asked.
func (s *eventStream) resume(ctx context.Context, attempt int) (*http.Response, error) {
	wait := max(s.retry, min(resumeDelay<<min(attempt, 10), maxResumeDelay))
	if attempt == 0 && s.retry == 0 {
		wait = 0
	}
	if err := sleep(ctx, wait); err != nil {
		return nil, err
	}
	header := s.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if s.lastID != "" {
		header["Last-Event-Id"] = []string{s.lastID}
	}
	resp, err := s.conn.do(ctx, http.MethodGet, header, nil)
	if err != nil {
		return nil, err
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && media == mediaStream {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode/100 != 2 {
		return nil, s.conn.statusError(resp)
	}
	return nil, fmt.Errorf("GET %s: content type %q, want %s", s.conn.shown, cut(media), mediaStream)
}

// listen implements [exchanger]. The stream is opened again whenever it ends,
// ever more slowly while nothing comes over it.
func (c *httpConn) listen(ctx context.Context, header http.Header, deliver func([]byte)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	s := &eventStream{conn: c, header: header}
	for attempt := 0; ctx.Err() == nil; attempt++ {
		resp, err := s.resume(ctx, attempt)
		var status *HTTPError
		switch {
		case errors.As(err, &status) && !status.transient():
			if status.Status == http.StatusMethodNotAllowed || status.Status == http.StatusNotFound {
				return nil // the server offers no stream, or not any more
			}
			return err
		case err != nil:
			continue
		}
		_, _ = s.read(resp.Body, func(data []byte) bool {
			attempt = 0
			deliver(data)
			return false
		})
		_ = resp.Body.Close()
	}
	return nil
}
