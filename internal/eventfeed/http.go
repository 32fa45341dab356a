package eventfeed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// Serve writes the events of a run as server-sent events until the request ends, from the position
// that the header Last-Event-ID or else the URL parameter "after" names.
func (f *Feed) Serve(w http.ResponseWriter, r *http.Request, key run.Key) {
	last := r.Header.Get("Last-Event-ID")
	last = cmp.Or(last, r.URL.Query().Get("after"))
	after, err := agent.ParsePosition(last)
	if err != nil {
		f.opts.HandleError(w, r, fmt.Errorf("%w: %w", agent.ErrPosition, err))
		return
	}
	reader, err := f.Read(r.Context(), key, after)
	if err != nil {
		f.opts.HandleError(w, r, err)
		return
	}
	defer reader.Close()
	head := w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-store")
	head.Set("X-Accel-Buffering", "no") // proxies must not delay events
	s := &response{w: w, control: http.NewResponseController(w)}
	if s.write("retry: 1000\n\n") != nil {
		return
	}
	for s.event(r.Context(), reader) == nil {
	}
}

// Durations of a stream over HTTP.
const (
	keepAlive    = 15 * time.Second // silence before a comment is sent
	writeTimeout = 30 * time.Second
)

type response struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// event writes the next event, or a comment if there is none for a while.
func (s *response) event(ctx context.Context, r *Reader) error {
	wait, cancel := context.WithTimeout(ctx, keepAlive)
	defer cancel()
	e, err := r.Next(wait)
	switch {
	case err == nil && e.ID != "":
		return s.write("id: %s\ndata: %s\n\n", e.ID, e.Data)
	case err == nil:
		return s.write("data: %s\n\n", e.Data)
	case wait.Err() != nil && ctx.Err() == nil: // a store may have an error of its own for that
		return s.write(": keep-alive\n\n")
	}
	return err
}

func (s *response) write(format string, args ...any) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := fmt.Fprintf(s.w, format, args...); err != nil {
		return err
	}
	return s.control.Flush()
}

// handleError writes the default response to a request that gets no stream.
func handleError(w http.ResponseWriter, _ *http.Request, err error) {
	code := http.StatusInternalServerError
	switch {
	case errors.Is(err, record.ErrNotFound):
		code = http.StatusNotFound
	case errors.Is(err, agent.ErrPosition):
		code = http.StatusBadRequest
	case errors.Is(err, ErrTooManyReaders):
		code = http.StatusServiceUnavailable
	}
	http.Error(w, http.StatusText(code), code)
}
