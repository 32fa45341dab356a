package site

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
)

const (
	// maxStream is how long a stream lasts. The browser then resumes it after its last event,
	// and is authenticated again.
	maxStream = 15 * time.Minute

	// writeTime bounds the time in which a browser accepts a batch of events.
	writeTime = 30 * time.Second

	// maxBatch bounds what is written at a time in bytes, unless a single event is larger.
	maxBatch = 256 << 10
)

// pane is what a window of a browser shows.
type pane struct {
	conversation string         // "": only the list
	after        agent.Position // the position of the last event that the window has
	window       string         // the id under which the window has views; "": it shows none
}

// panesOf returns what the windows of a request show, in the order of its parameters: one pane at
// least. A parameter that has fewer values than there are conversations counts as empty.
func panesOf(r *http.Request) ([]pane, error) {
	query := r.URL.Query()
	value := func(name string, i int) string {
		if values := query[name]; i < len(values) {
			return values[i]
		}
		return ""
	}
	panes := make([]pane, max(1, len(query["conversation"])))
	for i := range panes {
		after, err := agent.ParsePosition(value("after", i))
		if err != nil {
			return nil, err
		}
		panes[i] = pane{value("conversation", i), after, value("window", i)}
	}
	return panes, nil
}

// events streams to the windows of a browser over one connection: each window gets its conversation, and the list of
// conversations. A window that cannot get its conversation gets the reason and the list.
func (s *site) events(w http.ResponseWriter, r *http.Request) {
	person, err := s.person(w, r, s.changes)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	windows, err := panesOf(r)
	if err != nil {
		hosting.WriteError(w, http.StatusBadRequest, err.Error())
		return
	}
	session, leaveSession := hosting.WhileSignedIn(r.Context(), func() bool {
		p, ok := s.opts.SignIn.Person(r)
		return ok && p.User == person.User
	})
	defer leaveSession()
	ctx, cancel := context.WithTimeout(session, maxStream)
	defer cancel()
	leave, ok := s.streams.reserve(person, r.URL.Query().Get("reader"), len(windows), cancel)
	if !ok {
		w.Header().Set("Retry-After", "10")
		hosting.WriteError(w, http.StatusTooManyRequests, "too many windows are open")
		return
	}
	defer leave()
	out := newStream(w)
	var wg sync.WaitGroup
	defer wg.Wait()
	for i, window := range windows {
		wg.Go(func() {
			send := func(events []talk.Event) error {
				err := out.send(i, events)
				if err != nil {
					cancel() // the browser is gone, or accepts nothing
				}
				return err
			}
			err := s.watch(ctx, person, window, send)
			if err == nil || ctx.Err() != nil || send([]talk.Event{s.refusal(r, err)}) != nil {
				return
			}
			_ = s.opts.Talk.Watch(ctx, person.User, "", agent.Position{}, send) // only the list
		})
	}
}

// refusal returns the event with the reason why a window cannot get its conversation.
func (s *site) refusal(r *http.Request, err error) talk.Event {
	status, text := s.describe(r, err)
	return talk.NewEvent("refused", map[string]any{"status": status, "error": text})
}

// stream writes server-sent events. The field "window" says to which window an event belongs.
// Clients with one window ignore it, as the format requires.
type stream struct {
	control *http.ResponseController

	mu sync.Mutex // held while a batch is written
	w  http.ResponseWriter
}

func newStream(w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	return &stream{control: http.NewResponseController(w), w: w}
}

// send writes a batch, a large one in parts. An empty one keeps the connection alive.
func (s *stream) send(window int, events []talk.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b bytes.Buffer
	for _, e := range events {
		fmt.Fprintf(&b, "window: %d\nevent: %s\n", window, e.Type)
		if e.ID != "" {
			fmt.Fprintf(&b, "id: %s\n", e.ID)
		}
		fmt.Fprintf(&b, "data: %s\n\n", e.Data)
		if b.Len() > maxBatch {
			if err := s.write(&b); err != nil {
				return err
			}
		}
	}
	if len(events) == 0 {
		b.WriteString(":\n\n")
	}
	return s.write(&b)
}

// write writes and empties the buffer. It fails if the browser does not accept it within writeTime.
func (s *stream) write(b *bytes.Buffer) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	if _, err := b.WriteTo(s.w); err != nil {
		return err
	}
	return s.control.Flush()
}
