package site

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
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
// conversations. A window that cannot get its conversation gets the reason and the list, and a window for which there is
// no room only the reason.
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
	served, leave := s.streams.begin(person, r.URL.Query().Get("reader"), len(windows), cancel)
	defer leave()
	tooMany := hosting.Refuse(http.StatusTooManyRequests, "too many windows are open")
	if served == 0 {
		w.Header().Set("Retry-After", "10")
		s.fail(w, r, tooMany)
		return
	}
	out := newEventWriter(w)
	for i := served; i < len(windows); i++ {
		if out.send(i, []talk.Event{s.refusal(r, tooMany)}) != nil {
			return
		}
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	for i, window := range windows[:served] {
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

// streams are the streams that are being served. The number of their windows is bounded.
type streams struct {
	each, all int // maximum number of windows of a user, and of all users

	mu     sync.Mutex // guards the following field
	served []*stream
}

type stream struct {
	person  Person
	reader  string // names the browser, or the one of its windows, that reads the stream; may be ""
	windows int
	cancel  context.CancelFunc
}

// begin counts a stream until leave is called, and returns how many of its windows, from the first one, there is room
// for: a browser names a new window last. It ends an earlier stream of the same reader and session, so that a browser that
// reconnects gets its room at once.
func (s *streams) begin(p Person, reader string, windows int, cancel context.CancelFunc) (room int, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = slices.DeleteFunc(s.served, func(earlier *stream) bool {
		again := reader != "" && earlier.reader == reader && earlier.person == p
		if again {
			earlier.cancel()
		}
		return again
	})
	own, all := s.each, s.all
	for _, other := range s.served {
		all -= other.windows
		if other.person.User == p.User {
			own -= other.windows
		}
	}
	room = max(0, min(windows, own, all))
	begun := &stream{person: p, reader: reader, windows: room, cancel: cancel}
	s.served = append(s.served, begun)
	return room, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.served = slices.DeleteFunc(s.served, func(other *stream) bool { return other == begun })
	}
}

// end ends the streams of a session.
func (s *streams) end(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, served := range s.served {
		if served.person.Session == session {
			served.cancel()
		}
	}
}

// eventWriter writes server-sent events. The field "window" says to which window an event belongs.
// Clients with one window ignore it, as the format requires.
type eventWriter struct {
	control *http.ResponseController

	mu sync.Mutex // held while a batch is written
	w  http.ResponseWriter
}

func newEventWriter(w http.ResponseWriter) *eventWriter {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	return &eventWriter{control: http.NewResponseController(w), w: w}
}

// send writes a batch, a large one in parts. An empty one keeps the connection alive.
func (e *eventWriter) send(window int, events []talk.Event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b bytes.Buffer
	for _, event := range events {
		fmt.Fprintf(&b, "window: %d\nevent: %s\n", window, event.Type)
		if event.ID != "" {
			fmt.Fprintf(&b, "id: %s\n", event.ID)
		}
		fmt.Fprintf(&b, "data: %s\n\n", event.Data)
		if b.Len() > maxBatch {
			if err := e.write(&b); err != nil {
				return err
			}
		}
	}
	if len(events) == 0 {
		b.WriteString(":\n\n")
	}
	return e.write(&b)
}

// write writes and empties the buffer. It fails if the browser does not accept it within writeTime.
func (e *eventWriter) write(b *bytes.Buffer) error {
	if err := e.control.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	if _, err := b.WriteTo(e.w); err != nil {
		return err
	}
	return e.control.Flush()
}
